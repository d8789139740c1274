"""`mmalign bench`, run as a stranger would."""

import csv
import os
import pty
import select
import signal
import time
from pathlib import Path

import pytest

from mmalign.cli.bench import parse_pairs, parse_rates
from tests.cli.many import mmalign_alone, mmalign_many
from tests.experiments.tiny import write_data
from tests.forked import MMALIGN, Forked

SETTINGS = ["dim=8", "heads=2", "window=2", "batch_size=16", "epochs=2"]
SMALL = [word for setting in SETTINGS for word in ("--set", setting)]
SCOPE = ["--pairs", "visible:victim", "--survival", "0.5", "--seeds", "2"]
MAIN = ["--suite", "main", "--methods", "zero-fill,lb", *SCOPE, *SMALL]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return write_data(tmp_path_factory.mktemp("data") / "twin")


@pytest.fixture(scope="module")
def grid(data, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("grids") / "grid"
    done = mmalign_alone("bench", data, *MAIN, "--out", out, "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert f"4 of 4 runs are done: {out / 'results.csv'}" in done.stdout
    assert f"next: mmalign report {out}" in done.stdout
    lines = done.stderr.splitlines()
    assert len(lines) == 4
    assert lines[-1].startswith("[4/4] main, ")
    assert lines[-1].endswith("seed 0: done") or lines[-1].endswith("seed 1: done")
    return out


def test_the_table_holds_every_entry_and_setting(grid):
    rows = list(csv.DictReader((grid / "results.csv").open()))
    places = [(row["system"], row["setting"], row["seed"]) for row in rows]
    assert places == [(m, s, n) for m in ("LB", "zero-fill") for s in "AB" for n in "01"]
    timings = list(csv.DictReader((grid / "timings.csv").open()))
    assert {row["address"] for row in timings} == {row["address"] for row in rows}


MISTAKES = [
    (["--suite", "mian"], "unknown suite 'mian'; did you mean 'main'?"),
    (["--methods", "mmalgn"], "unknown method 'mmalgn'; did you mean 'mmalign'?"),
    (["--suite", "subsets", "--methods", "ub"], "'ub' does not answer for subsets; there are"),
    (["--suite", "subsets", "--methods", "lb", "--modalities", "smell"], "no modality 'smell'"),
    (["--pairs", "visible:smell"], "no modality 'smell'"),
    (["--pairs", "visible"], "'visible' is not of the form visible:victim"),
    (["--pairs", "visible:visible"], "a pair needs two modalities"),
    (["--seeds", "1"], "a paired test needs two or more, got 1; give --seeds 5"),
    (["--seeds", "many"], "--seeds 'many': give a number (5), a range (0-4) or a list"),
    (["--survival", "most"], "'most' is not a list of numbers"),
    (["--survival", "1.5"], "a survival rate lies in (0, 1], got 1.5"),
    (["--set", "epochs=3"], "holds another grid; epochs was 2, is 3 for main, "),
    (["--strong"], "holds another grid; "),
    (["--set", "seed=3"], "seed is not a setting of a suite: use --seeds"),
    (["--set", "windw=3"], "did you mean 'window'"),
    (["--address", "somewhere:1"], "--address is the address of a Ray cluster"),
    (["--config", "nowhere.toml"], "nowhere.toml"),
    (["--out", "{data}"], "exists and is not a grid. Give another --out."),
]


def test_mistakes_are_one_line_and_exit_2_and_change_nothing(grid, data):
    files = [grid / "grid.json", grid / "results.csv", *grid.rglob("result.json")]
    before = [file.read_bytes() for file in files]
    start = ["bench", data, *MAIN, "--out", grid]
    commands = [[*start, *(w.format(data=data) for w in words)] for words, _ in MISTAKES]
    listing = ["bench", data, *MAIN, "--out", grid, "--methods", "lb,ub", "--list"]
    *answers, listed, again = mmalign_many([*commands, listing, start])
    for done, (_, message) in zip(answers, MISTAKES, strict=True):
        assert done.returncode == 2, done
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert listed.returncode == 0, listed.stderr
    assert "4 entries, 4 runs: 2 done, 2 to do, 0 failed" in listed.stdout
    assert [file.read_bytes() for file in files] == before
    assert again.returncode == 0
    assert "4 of 4 runs are already done" in again.stderr


FIRST_USE = "from mmalign.cli import kernels as k; k._is_kept = k._compile = lambda _: None"


def test_data_and_modalities_are_checked_before_kernels_are_compiled(data, tmp_path):
    out = ["--out", tmp_path / "grid"]
    words = [["bench", tmp_path / "nowhere", *MAIN, *out]]
    words += [["bench", data, *MAIN, *out, "--pairs", "visible:smell"]]
    words += [["train", tmp_path / "nowhere", *out]]
    words += [["train", data, "--visible", "visible", "--victim", "smell", *out]]
    for command in words:
        done = Forked(f"{FIRST_USE}; {MMALIGN}", command).done()
        assert done.returncode == 2, done
        assert "nowhere: there is no such file" in done.stderr or "'smell'" in done.stderr
        assert "compiling" not in done.stderr
    assert not (tmp_path / "grid").exists()


NO_RAY = "import sys; sys.modules['ray'] = None"


def test_without_ray_the_error_says_how_to_install_it(data, tmp_path):
    words = ["bench", data, *MAIN, "--out", tmp_path / "grid", "--engine", "ray"]
    done = Forked(f"{NO_RAY}; {MMALIGN}", words).done()
    assert done.returncode == 2
    assert done.stderr == "error: --engine ray needs a package: pip install 'mmalign[ray]'\n"
    assert not (tmp_path / "grid").exists()


def test_ctrl_c_stops_and_says_how_to_go_on(data, tmp_path):
    """On a terminal, where the signal reaches every process of the group."""
    out = tmp_path / "grid"
    words = ["bench", data, *MAIN, "--set", "epochs=100000", "--set", "patience=100000"]
    leader, follower = pty.openpty()
    process = Forked(MMALIGN, [*words, "--out", out], err=os.ttyname(follower), leads=True)
    os.close(follower)
    while not list(out.glob("runs/*/checkpoint/state.safetensors")):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(60) == 130
    told = b""
    while select.select([leader], [], [], 0.2)[0]:
        try:
            told += os.read(leader, 4096)
        except OSError:
            break
    os.close(leader)
    assert b"stopped: 0 of 4 runs are done in " in b" ".join(told.split())
    assert b"Traceback" not in told
    assert (out / "results.csv").exists()
    assert list(out.glob("runs/*/checkpoint/state.safetensors"))


def test_pairs_and_rates_are_lists():
    assert parse_pairs("a:b, b:a") == [("a", "b"), ("b", "a")]
    assert parse_rates("0.1,0.5") == [0.1, 0.5]
