"""A search for settings: blind to test, resumable to the same points, its trials are runs."""

import csv
import json
import math
import os
import signal
import sqlite3
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

import mmalign
from mmalign.data.split import Split
from mmalign.errors import ConfigError, DataError, MMAlignError
from mmalign.experiments.engines import worker
from mmalign.experiments.engines.local import LocalEngine
from mmalign.experiments.tuning import Search, Trial, Tuned, tune
from mmalign.experiments.tuning.spaces import Choice, Range, Space
from mmalign.experiments.tuning.spaces_file import SPACES
from mmalign.experiments.tuning.study import Study
from mmalign.experiments.tuning.trial import ranked
from mmalign.runs import epochs as running
from mmalign.runs.claim import BusyFolderError, claimed
from mmalign.training.methods import configure
from tests.training.small import small_dataset, small_protocol, small_run

QUICK = {
    "method": "zero-fill",
    "dim": 8,
    "heads": 2,
    "epochs": 1,
    "warm_up": 0,
    "contrastive_weight": 0.0,
}
GRID = Space("grid", {"learning_rate": Choice((1e-3, 1e-2)), "dropout": Choice((0.0, 0.2))})
SAMPLED = Space("sampled", {"learning_rate": Range(1e-3, 1e-1, True), "kernel": Choice((1, 3))})


def quick_search(**changes) -> Search:
    defaults = {
        "dataset": small_dataset(),
        "protocol": small_protocol(),
        "settings": QUICK,
        "space": GRID,
    }
    return Search(**(defaults | changes))


def outcomes(tuned: Tuned) -> list[tuple]:
    """What a search found, without the time it took."""
    return [
        (sorted(trial.point.items()), trial.score, trial.loss)
        for trial in tuned.trials
        if trial.is_finished
    ]


@pytest.fixture(scope="module")
def grid(tmp_path_factory) -> tuple[Path, Tuned]:
    out = tmp_path_factory.mktemp("searches") / "a?b {c} %20 #d"  # no URL, no template
    return out, tune(quick_search(), out, trials=100)


def test_a_grid_is_exhausted_and_no_point_is_tried_twice(grid):
    _, tuned = grid
    points = {tuple(trial.point.items()) for trial in tuned.trials}
    assert len(tuned.trials) == len(points) == 4
    assert [trial.state for trial in tuned.trials] == ["complete"] * 4


def test_the_order_of_a_grid_comes_from_the_search_seed(grid, tmp_path):
    _, tuned = grid
    other = tune(quick_search(search_seed=1), tmp_path / "other", trials=2)
    assert [t.point for t in other.trials] != [t.point for t in tuned.trials[:2]]
    again = tune(quick_search(), tmp_path / "again", trials=2)
    assert outcomes(again) == outcomes(tuned)[:2]


def test_the_files_say_what_was_found(grid):
    out, tuned = grid
    rows = list(csv.DictReader((out / "trials.csv").open()))
    assert [float(row["score"]) for row in rows] == [trial.score for trial in tuned.trials]
    assert {row["learning_rate"] for row in rows} == {"0.001", "0.01"}
    assert (out / "importance.png").read_bytes()[:4] == b"\x89PNG"
    best = tomllib.loads((out / "best.toml").read_text())
    assert tuned.ranking[0].score == max(trial.score for trial in tuned.trials)
    assert {name: best[name] for name in GRID.dimensions} == tuned.ranking[0].point
    assert {name: best[name] for name in QUICK} == QUICK
    assert "seed" not in best
    assert configure(best) == quick_search().config_at(tuned.ranking[0].point)


def test_a_finished_search_starts_no_more_trials(grid):
    out, tuned = grid
    assert outcomes(tune(quick_search(), out, trials=100)) == outcomes(tuned)
    assert outcomes(tune(quick_search(), out, trials=1)) == outcomes(tuned)


class Untouchable(Split):
    """A split that breaks whoever looks at it."""

    def __getattribute__(self, name: str) -> object:
        if name != "__class__":
            raise AssertionError(f"the test split was read: {name}")
        return super().__getattribute__(name)


def test_the_test_split_is_never_read(grid, tmp_path):
    _, tuned = grid
    data = small_dataset()
    test = data.splits["test"]
    sealed = Untouchable(test.ids, test.labels, test.sequences)
    with pytest.raises(AssertionError, match="the test split was read"):
        len(sealed)
    found = tune(
        quick_search(dataset=replace(data, splits={**data.splits, "test": sealed})),
        tmp_path / "sealed",
        trials=2,
    )
    assert outcomes(found) == outcomes(tuned)[:2]
    for file in (tmp_path / "sealed").glob("runs/*/result.json"):
        assert json.loads(file.read_text())["settings"]["A"]["metrics"].keys() == {"valid"}
    absent = {name: data.splits[name] for name in ("train", "valid")}
    # The same directory: without its test split it is the same search, and nothing is left to do.
    again = tune(quick_search(dataset=replace(data, splits=absent)), tmp_path / "sealed", trials=2)
    assert outcomes(again) == outcomes(found)


@pytest.mark.parametrize("method", ["zero-fill", "dynamic-window"])
def test_the_score_is_what_a_run_would_report(tmp_path, method):
    """Also where a gate is chosen after training."""
    point = {"learning_rate": 0.01}
    search = quick_search(
        settings={**QUICK, "method": method},
        space=Space("one", {"learning_rate": Choice((0.01, 1))}),
    )
    run = small_run(
        tmp_path / "run",
        **{**QUICK, **point, "method": method, "window": 8, "batch_size": 32},
        **({"both_passes": True, "gate": True} if method == "dynamic-window" else {}),
    )
    result = run.execute(lambda *_: None)
    tuned = tune(search, tmp_path / "search", trials=2)
    (trial,) = [trial for trial in tuned.trials if trial.point == point]
    assert trial.score == result["settings"]["A"]["metrics"]["valid"]["weighted_f1"]


def test_a_trial_is_a_run_that_can_be_loaded(grid):
    out, tuned = grid
    search = quick_search()
    (job,) = search.jobs_at(tuned.ranking[0].point)
    run = out / "runs" / job.address(search.data_hash)
    valid = small_dataset()["valid"].without("victim", small_dataset()["valid"].ids)
    assert mmalign.load(run).metrics(valid)["weighted_f1"] == tuned.ranking[0].score
    assert len(list((out / "runs").iterdir())) == len(tuned.trials)


def test_a_score_is_the_mean_over_seeds(tmp_path):
    alone = [
        tune(quick_search(seeds=(seed,)), tmp_path / f"{seed}", trials=1).trials[0]
        for seed in (3, 4)
    ]
    both = tune(quick_search(seeds=(3, 4)), tmp_path / "both", trials=1).trials[0]
    assert both.point == alone[0].point == alone[1].point
    assert both.score == pytest.approx(fmean(one.score for one in alone))
    assert both.loss == pytest.approx(fmean(one.loss for one in alone))


def test_a_point_that_is_drawn_again_is_not_trained_again(tmp_path):
    few = Space("few", {"patience": Range(1, 2)})
    tuned = tune(quick_search(space=few), tmp_path / "out", trials=4)
    assert [trial.state for trial in tuned.trials] == ["complete"] * 4
    points = {trial.point["patience"] for trial in tuned.trials}
    assert len(list((tmp_path / "out" / "runs").iterdir())) == len(points) <= 2


def test_equal_scores_are_ranked_by_loss():
    trials = [
        Trial(number=n, state=state, point={}, score=score, loss=loss)
        for n, (state, score, loss) in enumerate(
            [
                ("complete", 0.5, 1.0),
                ("diverged", math.nan, math.nan),
                ("complete", 0.5, 0.9),
                ("complete", 0.6, 2.0),
                ("complete", 0.5, 0.9),
            ]
        )
    ]
    assert [trial.number for trial in ranked(trials)] == [3, 2, 4, 0]


@pytest.fixture(scope="module")
def sampled(tmp_path_factory) -> Tuned:
    return tune(quick_search(space=SAMPLED), tmp_path_factory.mktemp("s") / "whole", trials=4)


def test_a_sampled_search_starts_at_the_defaults(sampled):
    assert sampled.trials[0].point == {"learning_rate": 1e-3, "kernel": 1}
    assert len({trial.point["learning_rate"] for trial in sampled.trials}) == 4


def in_child(task: Callable[[], object]) -> int:
    """The process id of a child that does the task."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            task()
            code = 0
        finally:
            os._exit(code)
    return child


def test_killed_without_warning_it_goes_on_to_the_same_points(sampled, tmp_path):
    out = tmp_path / "killed"
    search = quick_search(space=SAMPLED)

    def die_in_the_second_trial() -> None:
        kept, save = [], running.save_checkpoint

        def save_and_die(state, file) -> None:
            save(state, file)
            kept.append(file)
            if len(kept) == 2:
                os.kill(os.getpid(), signal.SIGKILL)

        running.save_checkpoint = save_and_die
        tune(search, out, trials=4)

    _, status = os.waitpid(in_child(die_in_the_second_trial), 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    left = Study(search, out / "study.db").trials()
    assert [trial.state for trial in left] == ["complete", "running"]
    finished = {file: file.stat().st_mtime_ns for file in out.glob("runs/*/result.json")}
    assert len(finished) == 1
    resumed = tune(search, out, trials=4)
    assert [trial.state for trial in resumed.trials] == ["complete"] * 4
    assert outcomes(resumed) == outcomes(sampled)
    assert {file: file.stat().st_mtime_ns for file in finished} == finished
    assert not list(out.glob("runs/*/checkpoint/state.safetensors"))


def test_a_search_under_way_is_not_started_twice(tmp_path):
    tune(quick_search(), tmp_path / "out", trials=1)
    with claimed(tmp_path / "out"), pytest.raises(BusyFolderError, match="another process is"):
        tune(quick_search(), tmp_path / "out", trials=2)


def test_a_run_that_another_process_is_at_is_waited_for(grid, tmp_path):
    """As when a worker of a killed search is about to end."""
    _, tuned = grid
    search, out = quick_search(), tmp_path / "out"
    (job,) = search.jobs_at(tuned.trials[0].point)
    run = out / "runs" / job.address(search.data_hash)
    children = []

    def hold() -> None:
        with claimed(run):
            (tmp_path / "held").touch()
            time.sleep(1.0)

    def hold_first_run(_: list[Trial]) -> None:
        if not children:
            run.mkdir(parents=True)
            children.append(in_child(hold))
            while not (tmp_path / "held").exists():
                time.sleep(0.01)

    found = tune(search, out, trials=1, on_change=hold_first_run)
    os.waitpid(children[0], 0)
    assert outcomes(found) == outcomes(tuned)[:1]
    assert found.trials[0].seconds > 0.5


def test_a_trial_cut_at_birth_is_given_up(tmp_path):
    search, out = quick_search(), tmp_path / "out"
    tune(search, out, trials=1)
    Study(search, out / "study.db").study.ask()  # no point yet
    tuned = tune(search, out, trials=2)
    assert [trial.state for trial in tuned.trials] == ["complete", "interrupted", "complete"]
    rows = list(csv.DictReader((out / "trials.csv").open()))
    assert rows[1]["state"] == "interrupted"
    assert rows[1]["score"] == rows[1]["seconds"] == ""


def test_a_trial_that_diverges_does_not_stop_the_search(tmp_path):
    space = Space("wild", {"learning_rate": Choice((1e-3, 1e30))})
    tuned = tune(quick_search(space=space), tmp_path / "out", trials=2)
    states = {trial.point["learning_rate"]: trial.state for trial in tuned.trials}
    assert states == {1e-3: "complete", 1e30: "diverged"}
    rows = {row["state"]: row for row in csv.DictReader((tmp_path / "out/trials.csv").open())}
    assert "Lower the learning rate" in rows["diverged"]["error"]
    assert rows["diverged"]["score"] == ""
    assert tuned.importances == {}
    assert (tmp_path / "out" / "importance.png").exists()


def test_when_every_trial_diverges_it_is_said(tmp_path):
    space = Space("wild", {"learning_rate": Choice((1e29, 1e30))})
    with pytest.raises(MMAlignError, match="every trial diverged"):
        tune(quick_search(space=space), tmp_path / "out", trials=2)
    assert (tmp_path / "out" / "trials.csv").exists()
    assert not (tmp_path / "out" / "best.toml").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol": small_protocol(survival=0.4)}, "protocol.survival was 0.5, is 0.4"),
        ({"settings": {**QUICK, "epochs": 3}}, "settings.epochs was 1, is 3"),
        ({"settings": {**QUICK, "method": "copy"}}, "settings.method was 'zero-fill', is 'copy'"),
        ({"space": SAMPLED}, "space.dropout was"),
        ({"seeds": (0, 1)}, r"seeds was \[0\], is \[0, 1\]"),
        ({"dataset": replace(small_dataset(), splits=dict.fromkeys(("train", "valid"),
          small_dataset().splits["train"]))}, "data was"),
    ],
)  # fmt: skip
def test_the_directory_of_another_search_is_refused(grid, changes, message):
    out, _ = grid
    with pytest.raises(MMAlignError, match=message):
        tune(quick_search(**changes), out, trials=1)


def test_the_directory_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("do not touch")
    with pytest.raises(MMAlignError, match="not a directory of a search"):
        tune(quick_search(), tmp_path, trials=1)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def _garbage(database: Path) -> None:
    database.write_bytes(b"not a database at all" * 100)


def _cut(database: Path) -> None:
    database.write_bytes(database.read_bytes()[: database.stat().st_size // 2])


def _without_a_table(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("DROP TABLE alembic_version")
        connection.execute("DROP TABLE version_info")
        connection.execute("CREATE TABLE version_info (other INTEGER)")
    connection.close()


@pytest.mark.parametrize("damage", [_garbage, _cut, _without_a_table])
def test_a_damaged_study_is_refused(grid, tmp_path, damage):
    whole, _ = grid
    out = tmp_path / "out"
    out.mkdir()
    for name in ("search.json", "study.db"):
        (out / name).write_bytes((whole / name).read_bytes())
    damage(out / "study.db")
    with pytest.raises(MMAlignError, match=r"study\.db: not a study that can be read") as caught:
        tune(quick_search(), out, trials=100)
    assert "\n" not in str(caught.value)


def test_a_damaged_identity_is_refused(tmp_path):
    (tmp_path / "search.json").write_text("{")
    with pytest.raises(MMAlignError, match=r"search\.json: not readable"):
        tune(quick_search(), tmp_path, trials=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"settings": {"windw": 3}}, "did you mean 'window'"),
        ({"settings": {"dim": "wide"}}, "must divide dim"),
        ({"settings": {"epochs": "many"}}, "epochs must be of type int"),
        ({"settings": {"method": "mmalgn"}}, "did you mean 'mmalign'"),
        ({"settings": {"seed": 3}}, "give its seeds"),
        ({"seeds": ()}, "seeds must be different ones"),
        ({"seeds": (1, 1)}, "seeds must be different ones"),
        ({"seeds": (-1,)}, "seed must be >= 0"),
        ({"search_seed": -1}, "search seed must be >= 0"),
        ({"settings": {"learning_rate": 0.1, "dropout": 0.1}}, "nothing to search"),
    ],
)
def test_searches_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        quick_search(**changes)


def test_data_that_cannot_be_searched_on_is_refused():
    data = small_dataset()
    with pytest.raises(DataError, match="no valid split"):
        quick_search(dataset=replace(data, splits={"train": data.splits["train"]}))
    with pytest.raises(DataError, match="no modality 'smell'"):
        quick_search(protocol=small_protocol(victim="smell"))
    unlabelled = replace(data.splits["valid"], labels=None)
    with pytest.raises(DataError, match="training needs labels"):
        quick_search(dataset=replace(data, splits={**data.splits, "valid": unlabelled}))
    with pytest.raises(DataError, match="no training clip has the victim"):
        quick_search(protocol=small_protocol(survival=0.01))


def test_a_window_that_cannot_reach_is_found_before_the_first_trial():
    data = small_dataset()
    train = data.splits["train"]
    short = [steps[:1] for steps in train.sequences["visible"]]
    uneven = replace(train, sequences={**train.sequences, "visible": short})
    with pytest.raises(DataError, match="window 1 cannot reach across"):
        quick_search(
            dataset=replace(data, splits={**data.splits, "train": uneven}),
            settings={**QUICK, "method": "mmalign"},
            space=Space("wide", {"window": Choice((9, 1))}),
        )


def test_less_than_one_trial_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="trials must be >= 1, got 0"):
        tune(quick_search(), tmp_path / "out", trials=0)
    assert not (tmp_path / "out").exists()


def test_workers_need_to_know_where_the_data_is(tmp_path):
    with pytest.raises(ConfigError, match="give Search a source"):
        tune(quick_search(), tmp_path / "out", engine=LocalEngine(2))
    assert not (tmp_path / "out").exists()


def test_a_run_that_fails_otherwise_stops_the_search_and_it_goes_on(grid, tmp_path, monkeypatch):
    _, tuned = grid
    out = tmp_path / "out"

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(worker, "perform", full)
        with pytest.raises(MMAlignError, match="no space left"):
            tune(quick_search(), out, trials=2)
    assert outcomes(tune(quick_search(), out, trials=2)) == outcomes(tuned)[:2]
    assert not list((out / "errors").iterdir())


def test_without_optuna_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"pip install 'mmalign\[tune\]'"):
        tune(quick_search(), tmp_path / "out")


def test_useless_settings_are_not_searched():
    search = quick_search(space=SPACES["paper-mosi"], settings={"method": "zero-fill"})
    assert set(search.useless) == {"window", "fit_learning_rate"}
    assert set(search.searched.dimensions) == {
        *("learning_rate", "dim", "heads", "warm_up", "contrastive_weight")
    }
    assert search.fixed == {"method": "zero-fill", "batch_size": 32, "patience": 10}
