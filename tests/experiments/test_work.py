"""Jobs of every kind on the small twin, against what training itself finds."""

import json
from dataclasses import replace

import numpy as np
import pytest

from mmalign.errors import DataError
from mmalign.experiments.grid import Grid
from mmalign.experiments.plan_swaps import SWAPS, predicted, swapped_scores
from mmalign.experiments.work import CHECKPOINT, RESULT, TIMING, perform, sweep
from mmalign.training.settings import train_both_settings
from tests.experiments.tiny import PAIR, tiny_grid
from tests.training.small import small_config, small_dataset

DATA = small_dataset()


def do(grid: Grid, number: int = 0) -> dict:
    address, job = list(grid.jobs.items())[number]
    folder = grid.run_folder(address)
    folder.mkdir(parents=True)
    perform(job, DATA, folder)
    assert {path.name for path in folder.iterdir()} == {RESULT, TIMING}
    result = json.loads((folder / RESULT).read_text())
    assert result.pop("job") == job.to_json()
    return result


def test_a_training_job_scores_both_settings_and_the_swaps(tmp_path):
    result = do(tiny_grid(tmp_path / "grid", methods=["mmalign"]))
    assert set(result["scores"]) == set(result["valid"]) == {"A", "B"}
    assert set(result["swaps"]) == set(SWAPS)
    assert result["epochs"] == 3
    assert all(1 <= epoch <= 3 for epoch in result["best_epoch"].values())
    assert result["parameters"]["imputer"] > 0
    assert result["floor"]["accuracy"] <= 1
    assert "seconds" not in json.dumps(result)


def test_the_result_is_a_function_of_job_and_data(tmp_path):
    grids = [tiny_grid(tmp_path / name, methods=["mmalign"]) for name in "ab"]
    assert do(grids[0]) == do(grids[1]) != do(grids[0], 1)


def test_methods_without_plans_have_no_swaps(tmp_path):
    assert do(tiny_grid(tmp_path / "grid", methods=["zero-fill"]))["swaps"] == {}


def test_the_predicted_plan_as_a_swap_reproduces_setting_a():
    done = train_both_settings(
        DATA, small_config(epochs=1), visible=PAIR[0], victim=PAIR[1], survival=0.5
    )
    # In setting A all test clips lack their victim. The swap is handed clips that have it.
    swapped = swapped_scores(done.predictor, DATA["test"], predicted)
    expected = {name: done.selected["A"].test[name] for name in swapped}
    assert swapped == expected


def test_alignment_jobs_average_plans_inside_the_window(tmp_path):
    result = do(tiny_grid(tmp_path / "grid", suites=["alignment"]))
    for name in ("solver", "fitter"):
        mean = np.array(result[name])
        rows, columns = np.indices(mean.shape)
        assert mean.shape[0] == result["steps"]
        assert (mean[np.abs(rows - columns) > result["window"] + 1] == 0).all()
        assert (mean.sum(axis=1) <= 1 + 1e-5).all()


def test_case_jobs_take_one_clip_apart(tmp_path):
    grid = tiny_grid(tmp_path / "grid", suites=["case"])
    result = do(grid)
    (clip,) = {job.clip for job in grid.jobs.values()}
    assert result["clip"] == clip
    assert result["visible_steps"] == DATA["test"].lengths("visible")[DATA["test"].ids.index(clip)]
    assert {line[0] for line in result["solver"]} == set(range(result["visible_steps"]))


def test_speed_jobs_time_the_imputers(tmp_path, monkeypatch):
    monkeypatch.setattr("mmalign.experiments.speed.ROUNDS", 1)
    monkeypatch.setattr("mmalign.experiments.speed.BATCHES", 1)
    grid = tiny_grid(tmp_path / "grid", suites=["speed"])
    (address,) = grid.jobs
    grid.run_folder(address).mkdir(parents=True)
    perform(grid.jobs[address], DATA, grid.run_folder(address))
    times = grid.result(address)["milliseconds"]
    assert times["mmalign"]["solve"] > 0
    assert times["modal-trans"]["impute"] > 0


@pytest.mark.parametrize("content", [b"", b"cut short", bytes(5000)])
def test_a_damaged_checkpoint_is_thrown_away(tmp_path, content):
    grid = tiny_grid(tmp_path / "grid", methods=["zero-fill"])
    address, job = next(iter(grid.jobs.items()))
    folder = grid.run_folder(address)
    folder.mkdir(parents=True)
    (folder / CHECKPOINT).write_bytes(content)
    perform(job, DATA, folder)
    assert grid.is_done(address)
    assert not (folder / CHECKPOINT).exists()


def test_a_clip_that_is_not_there_is_an_error_and_no_result(tmp_path):
    grid = tiny_grid(tmp_path / "grid", suites=["case"])
    address, job = next(iter(grid.jobs.items()))
    grid.run_folder(address).mkdir(parents=True)
    with pytest.raises(DataError, match="no such clip"):
        perform(replace(job, clip="nobody"), DATA, grid.run_folder(address))
    assert not grid.is_done(address)


def test_sweeping_leaves_results_locks_and_checkpoints_under_way(tmp_path):
    for name in (".lock", ".result.json.x1", CHECKPOINT, "error.json"):
        (tmp_path / name).touch()
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".lock", CHECKPOINT, "error.json"}
    (tmp_path / RESULT).touch()
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".lock", RESULT, "error.json"}
