"""`mmalign tune`, run as a stranger would."""

import csv
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from mmalign.cli.tune import tune
from mmalign.data import write_native
from mmalign.errors import ConfigError
from tests.cli.many import mmalign_alone, mmalign_many
from tests.experiments.engines.scenes import outliving
from tests.forked import MMALIGN, Forked
from tests.training.small import poisoned, small_dataset

FLAGS = ["--visible", "visible", "--victim", "victim", "--survival", "0.5"]
SETTINGS = ["dim=8", "heads=2", "epochs=1", "warm_up=0", "window=2"]
SMALL = [word for setting in SETTINGS for word in ("--set", setting)]
SPACE = "learning_rate = [1e-3, 1e-2, 3e-2]\nfit_learning_rate = [1e-3, 1e-2]\nepsilon = 0.2\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """The test split is NaN all over: whoever looks at it will know."""
    dataset = small_dataset()
    for modality in dataset.modalities:
        ids = set(dataset.splits["test"].ids)
        dataset = poisoned(dataset, "test", ids, modality, np.nan)
    path = tmp_path_factory.mktemp("data") / "twin"
    write_native(dataset.checked_finite(), path)  # or it would not be written
    return path


@pytest.fixture(scope="module")
def searched(data, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    (folder / "mine.toml").write_text(SPACE)
    command = ["tune", data, *FLAGS, *SMALL, "--method", "dynamic-window", "--jobs", "1"]
    command += ["--space", folder / "mine.toml", "--trials", "3"]
    done = mmalign_alone(*command, "--out", folder / "out")
    assert done.returncode == 0, done.stderr
    assert "3 of 3, best" in done.stderr
    assert "3 trials, 0 of them diverged" in done.stdout
    again = mmalign_alone(*command, "--out", folder / "out")
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert "already done: 3 trials, best" in again.stderr
    assert "fit_learning_rate" in done.stdout
    return folder / "out"


def test_all_trials_are_done_and_no_point_twice(searched):
    rows = list(csv.DictReader((searched / "trials.csv").open()))
    assert [row["state"] for row in rows] == ["complete"] * 3
    assert len({(row["learning_rate"], row["fit_learning_rate"]) for row in rows}) == 3


def test_two_workers_find_the_same(data, searched, tmp_path):
    (tmp_path / "mine.toml").write_text(SPACE)
    command = ["tune", data, *FLAGS, *SMALL, "--method", "dynamic-window", "--jobs", "2"]
    command += ["--space", tmp_path / "mine.toml", "--trials", "3", "--out", tmp_path / "out"]
    told = "from mmalign.cli import tune; tune.compile_once = lambda *p: print('compiled', *p)"
    done = Forked(f"{told}; {MMALIGN}", command).done()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("compiled network alignment")  # or every worker would compile
    for name in ("best.toml", "trials.csv"):
        texts = [(out / name).read_text() for out in (searched, tmp_path / "out")]
        if name == "trials.csv":
            rows = [list(csv.DictReader(text.splitlines())) for text in texts]
            texts = [[row | {"seconds": ""} for row in table] for table in rows]
        assert texts[0] == texts[1]
    results = [
        {file.parent.name: file.read_bytes() for file in out.glob("runs/*/result.json")}
        for out in (searched, tmp_path / "out")
    ]
    assert results[0] == results[1]
    assert len(results[0]) == 3


MISTAKES = [
    (["--trials", "0"], "trials must be >= 1, got 0"),
    (["--jobs", "0"], "jobs must be >= 1, got 0"),
    (["--space", "paper-mosy"], "did you mean 'paper-mosi'"),
    (["--space", "nowhere.toml"], "nowhere.toml"),
    (["--victim", "smell"], "no modality 'smell'"),
    (["--seeds", "0,one"], "--seeds '0,one': give a number (5), a range (0-4) or a list"),
    (["--set", "windw=3"], "did you mean 'window'"),
    (["--method", "mmalgn"], "did you mean 'mmalign'"),
    (["--setting", "C"], "setting must be A or B"),
]


def test_best_settings_train_to_the_best_score_and_mistakes_are_told(data, searched, tmp_path):
    """In one process: most of the time goes into starting it."""
    write_native(small_dataset(), tmp_path / "whole")  # the same data with its test split
    best = ["--config", searched / "best.toml", "--out", tmp_path / "run"]
    dataset = small_dataset()
    write_native(replace(dataset, splits={"train": dataset.splits["train"]}), tmp_path / "train")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "search.json").write_text("{")
    start = ["tune", data, *FLAGS, *SMALL, "--out", tmp_path / "out"]
    cases = [([*start, *words], message) for words, message in MISTAKES]
    cases += [
        (["tune", tmp_path / "train", *start[2:]], "no valid split"),
        (["tune", data, "--out", tmp_path / "out"], "give --visible and --victim"),
        ([*start, "--out", searched], "holds another search"),
        ([*start, "--out", data], "not a directory of a search"),
        ([*start, "--out", tmp_path / "broken"], "not readable"),
    ]
    train, *answers = mmalign_many(
        [["train", tmp_path / "whole", *FLAGS, *best], *(words for words, _ in cases)]
    )
    assert train.returncode == 0, train.stderr
    rows = list(csv.DictReader((searched / "trials.csv").open()))
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["settings"]["A"]["metrics"]["valid"]["weighted_f1"] == max(
        float(row["score"]) for row in rows
    )
    for done, (_, message) in zip(answers, cases, strict=True):
        assert done.returncode == 2, done
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_without_optuna_it_is_said_how_to_get_it(data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"pip install 'mmalign\[tune\]'"):
        tune(str(data), tmp_path / "out", "visible", "victim")


@pytest.mark.nightly
def test_children_of_a_killed_search_stop_and_it_goes_on(data, tmp_path):
    command = ["tune", data, *FLAGS, *SMALL, "--set", "epochs=30", "--set", "patience=30"]
    command += ["--space", "paper-mosi", "--jobs", "2", "--trials", "4", "--out", tmp_path / "out"]
    words = [sys.executable, "-m", "mmalign.cli.main", *map(str, command)]
    search = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert search.stderr is not None
    assert "trial" in search.stderr.readline()
    workers = psutil.Process(search.pid).children(recursive=True)
    assert len(workers) == 3  # and the process that starts them
    os.kill(search.pid, signal.SIGKILL)
    search.wait()
    assert not outliving(workers, seconds=30)
    done = mmalign_alone(*command)
    assert done.returncode == 0, done.stderr
    assert "resuming after" in done.stderr
    rows = list(csv.DictReader((tmp_path / "out" / "trials.csv").open()))
    assert sum(row["state"] == "complete" for row in rows) == 4
