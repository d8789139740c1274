"""Jobs on the small twin, against what training itself finds."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import mmalign
from mmalign.documents import unsealed
from mmalign.errors import DataError, MMAlignError
from mmalign.experiments.analyses import ANALYSES
from mmalign.experiments.grid import Grid
from mmalign.experiments.plan_study import take_apart
from mmalign.experiments.plan_swaps import SWAPS, predicted, swapped_scores
from mmalign.experiments.tables import write_tables
from mmalign.experiments.work import analysis_file, perform
from mmalign.runs.artifact import load_artifact
from mmalign.runs.checkpoint import CHECKPOINT
from mmalign.runs.manifest import drop_weights
from tests.experiments.tiny import PAIR, tiny_grid
from tests.training.small import small_config, small_dataset, train_both_settings, weights

DATA = small_dataset()
RUN = {
    *("config.json", "model.safetensors", "README.md", "manifest.json", "run.json", ".lock"),
    *("metrics.jsonl", "result.json", "timing.json", "predictions.parquet", "masks.json"),
    "checkpoint",
}


def do(grid: Grid, number: int = 0) -> Path:
    address, job = list(grid.jobs.items())[number]
    folder = grid.run_folder(address)
    perform(job, DATA, folder)
    assert grid.is_done(address)
    assert {path.name for path in folder.iterdir()} == RUN | {f"{n}.json" for n in job.analyses}
    assert not (folder / CHECKPOINT).exists()
    return folder


def content(folder: Path, name: str = "result") -> dict:
    found = json.loads((folder / f"{name}.json").read_text())
    return unsealed(found) if "sha256" in found else found


def test_a_training_job_is_a_run_in_both_settings_and_the_swaps_beside_it(tmp_path):
    folder = do(tiny_grid(tmp_path / "grid", methods=["mmalign"]))
    result = content(folder)
    assert set(result["settings"]) == {"A", "B"}
    assert set(content(folder, "swaps")) == set(SWAPS)
    assert result["epochs"] == 3
    for found in result["settings"].values():
        assert set(found["metrics"]) == {"valid", "test"}
        assert 1 <= found["best_epoch"] <= 3
    assert result["parameters"]["imputer"] > 0
    assert result["floor"]["test"]["accuracy"] <= 1
    assert "seconds" not in json.dumps(result)


def test_experts_are_a_cell_like_any_other(tmp_path):
    grid = tiny_grid(tmp_path / "grid", methods=["experts", "zero-fill"], seeds=[0, 1])
    folder = do(grid)
    result = content(folder)
    assert (result["method"], list(result["settings"])) == ("experts", ["A", "B"])
    model = mmalign.load(folder)
    without = DATA["test"].without("victim", DATA["test"].ids)
    scores = result["settings"]["A"]["metrics"]["test"]
    assert model.metrics(without)["accuracy"] == scores["accuracy"]
    do(grid, 1)
    write_tables(grid)
    rows = list(csv.DictReader((grid.folder / "results.csv").open()))
    assert {row["system"] for row in rows} == {"experts", "zero-fill"}
    drop_weights(folder)
    with pytest.raises(MMAlignError, match="dropped its weights"):
        mmalign.load(folder)


def test_the_model_of_a_job_predicts_what_its_result_says(tmp_path):
    folder = do(tiny_grid(tmp_path / "grid", methods=["mmalign"]))
    predictor = load_artifact(folder).predictor
    without = DATA["test"].without("victim", DATA["test"].ids)
    scores = content(folder)["settings"]["A"]["metrics"]["test"]
    assert predictor.evaluate(without) == pytest.approx(scores)


def test_the_result_is_a_function_of_job_and_data(tmp_path):
    grids = [tiny_grid(tmp_path / name, methods=["mmalign"]) for name in "ab"]
    first, second, other = do(grids[0]), do(grids[1]), do(grids[0], 1)
    for name in ("result", "swaps"):
        assert content(first, name) == content(second, name) != content(other, name)
    assert weights(first) == weights(second) != weights(other)


def test_methods_without_plans_have_no_swaps(tmp_path):
    folder = do(tiny_grid(tmp_path / "grid", methods=["zero-fill"]))
    assert not analysis_file(folder, "swaps").exists()


def test_the_predicted_plan_as_a_swap_reproduces_setting_a():
    done = train_both_settings(
        DATA, small_config(epochs=1), visible=PAIR[0], victim=PAIR[1], survival=0.5
    )
    # In setting A all test clips lack their victim. The swap is handed clips that have it.
    swapped = swapped_scores(done.predictor, DATA["test"], predicted)
    assert swapped == {name: done.test("A")[name] for name in swapped}


def test_alignment_jobs_average_plans_inside_the_window(tmp_path):
    result = content(do(tiny_grid(tmp_path / "grid", suites=["alignment"])), "alignment")
    for name in ("solver", "fitter"):
        mean = np.array(result[name])
        rows, columns = np.indices(mean.shape)
        assert mean.shape[0] == result["steps"]
        assert (mean[np.abs(rows - columns) > result["window"] + 1] == 0).all()
        assert (mean.sum(axis=1) <= 1 + 1e-5).all()


def test_case_jobs_take_one_clip_apart(tmp_path):
    result = content(do(tiny_grid(tmp_path / "grid", suites=["case"])), "case")
    row = DATA["test"].ids.index(result["clip"])
    assert result["visible_steps"] == DATA["test"].lengths("visible")[row]
    assert {line[0] for line in result["solver"]} == set(range(result["visible_steps"]))


def test_suites_that_look_at_one_training_share_its_run(tmp_path):
    grid = tiny_grid(tmp_path / "grid", suites=["main", "alignment", "case"], methods=["mmalign"])
    assert len(grid.placed) == 2 + 2 + 2
    assert len(grid.jobs) == 2 + 1  # two seeds, and the improved one of the first
    assert set(grid.jobs[grid.placed[0].address].analyses) == set(ANALYSES)


def test_an_analysis_that_is_asked_for_later_trains_nothing_again(tmp_path, monkeypatch):
    do(tiny_grid(tmp_path / "grid", methods=["mmalign"]))
    grid = tiny_grid(tmp_path / "grid", suites=["alignment"])
    monkeypatch.setattr("mmalign.runs.pair_training.Training", None)
    address, job = next(iter(grid.jobs.items()))
    assert not grid.is_done(address)
    perform(job, DATA, grid.run_folder(address))
    assert grid.is_done(address)


def test_an_analysis_of_a_run_without_weights_trains_it_again(tmp_path):
    folder = do(tiny_grid(tmp_path / "grid", methods=["mmalign"]))
    before = weights(folder)
    drop_weights(folder)
    with pytest.raises(MMAlignError, match="dropped its weights"):
        load_artifact(folder)
    grid = tiny_grid(tmp_path / "grid", suites=["alignment"])
    assert not grid.is_done(next(iter(grid.jobs)))
    perform(next(iter(grid.jobs.values())), DATA, folder)
    assert weights(folder) == before


def test_speed_jobs_time_the_imputers(tmp_path, monkeypatch):
    monkeypatch.setattr("mmalign.experiments.speed.ROUNDS", 1)
    monkeypatch.setattr("mmalign.experiments.speed.BATCHES", 1)
    grid = tiny_grid(tmp_path / "grid", suites=["speed"])
    (address,) = grid.jobs
    perform(grid.jobs[address], DATA, grid.run_folder(address))
    times = grid.result(address)["milliseconds"]
    assert times["mmalign"]["solve"] > 0
    assert times["modal-trans"]["impute"] > 0


@pytest.mark.parametrize("damage", [b"", b"cut short", bytes(5000)])
def test_a_damaged_checkpoint_is_thrown_away(tmp_path, damage):
    grid = tiny_grid(tmp_path / "grid", methods=["zero-fill"])
    address = next(iter(grid.jobs))
    checkpoint = grid.run_folder(address) / CHECKPOINT
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(damage)
    do(grid)


def test_a_checkpoint_of_another_machine_is_thrown_away(tmp_path, monkeypatch):
    grid = tiny_grid(tmp_path / "grid", methods=["zero-fill"])
    job = next(iter(grid.jobs.values()))

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.run(DATA, grid.run_folder(next(iter(grid.jobs)))).execute(cut)
    monkeypatch.setattr("mmalign.runs.machine._processor", lambda: "another")
    do(grid)


def test_a_clip_that_is_not_there_is_an_error():
    done = train_both_settings(
        DATA, small_config(epochs=1), visible=PAIR[0], victim=PAIR[1], survival=0.5
    )
    with pytest.raises(DataError, match="no such clip"):
        take_apart(done.predictor, DATA, "nobody")
