"""The local engine: killed, shared, robbed of its workers, it comes to the same table."""

import csv
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.experiments.tiny import write_data
from tests.forked import run_module

pytestmark = pytest.mark.long


def play(folder: Path, *arguments: object) -> dict:
    """All scenes, in a process of their own: see scenes.py."""
    done = run_module("tests.experiments.engines.scenes", folder, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory) -> dict:
    return play(tmp_path_factory.mktemp("scenes"))


def test_the_table_has_a_row_an_entry_and_setting_whatever_the_number_of_workers(scenes):
    whole = scenes["whole"]
    assert whole["states"] == {"started": 8, "done": 8}
    assert whole["is_same"]
    rows = list(csv.DictReader(io.StringIO(whole["table"])))
    assert len(rows) == 16
    places = [(row["system"], row["setting"], int(row["seed"])) for row in rows]
    assert places == sorted(set(places))
    assert all(0 <= float(row["accuracy"]) <= 1 for row in rows)
    assert not any("/" in name for name in rows[0])


def test_what_is_done_is_not_done_again(scenes):
    assert scenes["whole"]["again"] == {}
    assert scenes["whole"]["left_over"] == []


def test_kills_at_random_instants_change_nothing(scenes):
    kills = scenes["kills"]
    assert kills["kills"] == 20
    assert all(kills["is_same"])
    assert kills["resumed"] > 0, "no kill hit a run under way"
    assert kills["survivors"] == 0, "workers outlived their engine"
    assert kills["left_over"] == []


def test_two_engines_on_one_grid_share_the_runs(scenes):
    sharing = scenes["sharing"]
    assert sharing["codes"] == [0, 0]
    assert len(sharing["by_engine"]) == 2
    assert sharing["times"] == [1] * sharing["runs"]
    assert sharing["is_same"]


def test_a_lost_worker_is_replaced_and_its_job_tried_once_more(scenes):
    lost = scenes["lost_workers"]
    assert lost["status"] == 0
    assert lost["unlucky"] == ["started", "died", "started", "done"]
    assert lost["unlikely"] == ["started", "died", "started", "failed"]
    assert "SIGKILL" in lost["error"]
    assert lost["failures"] == 1


def test_a_failed_job_is_tried_again_by_the_next_engine(scenes):
    lost = scenes["lost_workers"]
    assert lost["again"] == {"started": 1, "done": 1}
    assert (lost["failures_again"], lost["error_files"]) == (0, 0)


def test_jobs_that_fail_do_not_stop_the_rest(scenes):
    failing = scenes["failing"]
    assert failing["states"] == {"started": 8, "done": 4, "failed": 4}
    assert failing["rows"] == 8
    (error,) = failing["errors"]
    assert "no training clip has the victim modality" in error


def test_a_damaged_checkpoint_costs_its_epochs_only(scenes):
    assert scenes["damaged"] == {"states": {"started": 2, "done": 2}, "is_same": True}


def test_workers_that_see_other_data_refuse(scenes):
    assert scenes["other_data"]["states"] == {"started": 2, "failed": 2}
    (error,) = scenes["other_data"]["errors"]
    assert "other data" in error


@pytest.mark.nightly
def test_two_hundred_kills_change_nothing(tmp_path):
    kills = play(tmp_path, 200)["kills"]
    assert kills["kills"] == 200
    assert all(kills["is_same"])
    assert (kills["survivors"], kills["left_over"]) == (0, [])


@pytest.mark.nightly
def test_the_command_killed_twenty_times_comes_to_the_same_table(tmp_path):
    """As a user would see it: start-up, reading the data and writing tables are killed, too."""
    data = write_data(tmp_path / "data")
    words = [sys.executable, "-m", "mmalign.cli.main", "bench", str(data), "--suite", "main"]
    words += ["--pairs", "visible:victim", "--methods", "zero-fill,mmalign", "--seeds", "4"]
    for setting in ("dim=8", "heads=2", "window=2", "batch_size=16", "epochs=30", "patience=30"):
        words += ["--set", setting]
    started = time.monotonic()
    subprocess.run([*words, "--out", str(tmp_path / "whole")], check=True)
    seconds = time.monotonic() - started
    chance = random.Random(0)
    for _ in range(20):
        engine = subprocess.Popen([*words, "--out", str(tmp_path / "killed")])
        time.sleep(chance.uniform(0, seconds / 2))
        os.kill(engine.pid, signal.SIGKILL)
        engine.wait()
    subprocess.run([*words, "--out", str(tmp_path / "killed")], check=True)
    tables = [(tmp_path / name / "results.csv").read_bytes() for name in ("whole", "killed")]
    assert tables[0] == tables[1]
