"""Random damage to runs, models, checkpoints and grids: what loads is what was written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


def fuzz(mutants: int, seed: int) -> dict:
    script = Path(__file__).with_name("fuzz.py")
    done = subprocess.run(
        [sys.executable, str(script), str(mutants), str(seed)],
        capture_output=True,
        text=True,
        timeout=300 + mutants,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_no_mutant_loads_as_something_else(record_property):
    outcome = fuzz(2000, 0)
    record_property("figure", str(outcome))
    assert outcome["mutants"] >= 2000
    assert outcome["refused"] > 1500
    assert outcome["rss_rise_mb"] < 64


@pytest.mark.nightly
def test_a_hundred_thousand_mutants_load_as_nothing_else(record_property):
    outcome = fuzz(100_000, 1)
    record_property("figure", str(outcome))
    assert outcome["refused"] + outcome["same"] == 100_000
    assert outcome["rss_rise_mb"] < 64
