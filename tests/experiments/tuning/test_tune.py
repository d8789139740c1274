"""A search for settings: blind to test, resumable to the same points, shared by processes."""

import csv
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

from mmalign.data.split import Split
from mmalign.errors import ConfigError, DataError, MMAlignError
from mmalign.experiments.tuning import Search, Trial, Tuned, tune
from mmalign.experiments.tuning.folder import SearchFolder
from mmalign.experiments.tuning.objective import validate_point
from mmalign.experiments.tuning.spaces import SPACES, Choice, Range, Space
from mmalign.experiments.tuning.study import SharedStudy
from mmalign.experiments.tuning.trial import ranked
from mmalign.experiments.tuning.workers import work
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
    scores = result["settings"]["A"]["metrics"]["valid"]
    assert validate_point(search, point).score == scores["weighted_f1"]


def test_a_score_is_the_mean_over_seeds():
    point = {"learning_rate": 0.01, "dropout": 0.2}
    alone = [validate_point(quick_search(seeds=(seed,)), point) for seed in (3, 4)]
    both = validate_point(quick_search(seeds=(3, 4)), point)
    assert both.score == pytest.approx(fmean(one.score for one in alone))
    assert both.loss == pytest.approx(fmean(one.loss for one in alone))


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
    study = SharedStudy(search, _claimed(search, out))
    slow = replace(search, seeds=tuple(range(40)))  # the second trial will not end by itself

    def die_in_a_trial() -> None:
        tune(search, out, trials=1)
        work(SharedStudy(slow, study.folder), most=4, on_change=lambda _: None)

    child = in_child(die_in_a_trial)
    while [trial.state for trial in study.trials()] != ["complete", "running"]:
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    resumed = tune(search, out, trials=4)
    assert [t.state for t in resumed.trials] == ["complete", "interrupted", *["complete"] * 3]
    assert outcomes(resumed) == outcomes(sampled)
    assert resumed.trials[1].point == resumed.trials[2].point
    assert not list((out / ".workers").iterdir())
    rows = list(csv.DictReader((out / "trials.csv").open()))
    assert rows[1]["state"] == "interrupted"
    assert rows[1]["score"] == rows[1]["seconds"] == ""


def _claimed(search: Search, out: Path) -> SearchFolder:
    folder = SearchFolder(out)
    folder.claim(search.identity())
    return folder


def test_two_processes_share_the_work(grid, tmp_path):
    _, tuned = grid
    out = tmp_path / "shared"
    children = [in_child(lambda: tune(quick_search(), out, trials=3)) for _ in range(2)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    rows = list(csv.DictReader((out / "trials.csv").open()))
    assert len(rows) == 3
    assert len({(row["learning_rate"], row["dropout"]) for row in rows}) == 3
    found = {row["number"]: float(row["score"]) for row in rows}
    expected = {str(trial.number): trial.score for trial in tuned.trials[:3]}
    assert found == expected


def test_the_living_are_waited_for_and_the_dead_made_up_for(tmp_path):
    search = quick_search()
    folder = _claimed(search, tmp_path / "out")
    one, two = SharedStudy(search, folder), SharedStudy(search, folder)
    with folder.worker() as first, folder.worker() as second:
        taken = one.take(first, most=1)
        assert taken is not None
        assert two.take(second, most=1) is None
        assert [trial.state for trial in two.trials()] == ["running"]
    with folder.worker() as third:
        again = two.take(third, most=1)
    assert again is not None
    assert again.point == taken.point
    assert again.number == 1


def test_a_trial_cut_at_birth_is_given_up(tmp_path):
    search = quick_search()
    study = SharedStudy(search, _claimed(search, tmp_path / "out"))
    study.study.ask()  # no point yet, no worker
    with study.folder.worker() as worker:
        assert study.take(worker, most=1) is not None
    assert study.trials()[0].state == "interrupted"


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
    with pytest.raises(MMAlignError, match="no directory of a search"):
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


@pytest.mark.parametrize("counts", [{"trials": 0}, {"jobs": 0}])
def test_less_than_one_trial_or_process_is_refused(tmp_path, counts):
    with pytest.raises(ConfigError, match="must be >= 1, got 0"):
        tune(quick_search(), tmp_path / "out", **counts)
    assert not (tmp_path / "out").exists()


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
