"""Stopped commands say what is saved; the same command resumes, and says when it is done."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.cli.test_train import FLAGS, SMALL, mmalign
from tests.forked import MMALIGN, Forked

TRAIN = ["train", "twin", *FLAGS, *SMALL, "--set", "epochs=400", "--set", "patience=400", "--out"]
BENCH = ["bench", "twin", "--suite", "main", "--pairs", "visible:victim", "--survival", "0.5"]
BENCH += ["--seeds", "2", "--jobs", "1", *SMALL, "--set", "epochs=40", "--out"]
TUNE = ["tune", "twin", *FLAGS, *SMALL, "--trials", "50", "--set", "epochs=30", "--out"]
DEMO = ["demo", "--epochs", "40", "--seeds", "2", "--out"]


def stopped(command: list, out: Path, marker: str, number: int) -> tuple[int, str]:
    """Start a command, and stop it once a file shows that it is at work."""
    process = Forked(MMALIGN, [*command, out])
    deadline = time.monotonic() + 120
    while not list(out.glob(marker)) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    os.kill(process.pid, number)
    return process.wait(60), process.err.read_text()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_training_that_is_stopped_says_which_epoch_is_saved(tmp_path, number, code):
    found, told = stopped(TRAIN, tmp_path / "run", "metrics.jsonl", number)
    assert found == code
    assert "Run the same command again to resume" in told.splitlines()[-1]
    assert "stopped: saved up to epoch " in told
    assert "Traceback" not in told


def test_a_training_that_is_resumed_says_so(tmp_path):
    _, told = stopped(TRAIN, tmp_path / "run", "metrics.jsonl", signal.SIGINT)
    saved = told.split("saved up to ")[1].split(" in ")[0]
    process = Forked(MMALIGN, [*TRAIN, tmp_path / "run"])
    deadline = time.monotonic() + 120
    told = ""
    while "\n" not in told and time.monotonic() < deadline:
        time.sleep(0.05)
        told = process.err.read_text() if process.err.exists() else ""
    os.kill(process.pid, signal.SIGKILL)
    process.wait(60)
    assert told.splitlines(keepends=True)[0] == f"resuming {tmp_path / 'run'} after {saved}\n"


@pytest.mark.parametrize(
    ("command", "marker"),
    [(BENCH, "runs/*/run.json"), (TUNE, "runs/*/run.json"), (DEMO, "grid/runs/*/run.json")],
)
def test_sigterm_ends_a_grid_a_search_and_a_demo_as_ctrl_c_does(tmp_path, command, marker):
    found, told = stopped(command, tmp_path / "out", marker, signal.SIGTERM)
    assert found == 143, told
    assert "Run the same command again to resume" in told
    assert "Traceback" not in told


def test_the_command_of_a_finished_run_says_so_and_succeeds(tmp_path):
    command = ["train", "twin", *FLAGS, *SMALL, "--set", "epochs=1", "--out", tmp_path / "run"]
    first = mmalign(*command)
    again = mmalign(*command)
    assert (first.returncode, again.returncode) == (0, 0), again.stderr
    assert "already done" in again.stderr
    assert again.stdout == first.stdout
    other = mmalign(*command, "--seed", "3")
    assert other.returncode == 2
    assert "seed was 0, is 3" in other.stderr


def test_a_full_disk_names_the_file(tmp_path):
    command = ["train", "twin", *FLAGS, *SMALL, "--set", "epochs=1", "--out", tmp_path / "run"]
    done = Forked(MMALIGN, command, file_bytes=2000).done()
    assert done.returncode == 2
    assert "state.safetensors: File too large" in done.stderr
    assert "Traceback" not in done.stderr
