"""Random damage to runs, models, checkpoints and grids: what loads is what was written."""

import json

import pytest

from tests.forked import run_module

pytestmark = pytest.mark.long


def fuzz(mutants: int, seed: int) -> dict:
    done = run_module("tests.runs.fuzz", mutants, seed, seconds=300 + mutants)
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
