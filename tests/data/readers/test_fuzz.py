"""Random damage to every format: read, or refused with our exception; no hang, crash or bomb."""

import json

import pytest

from tests.forked import run_module

pytestmark = pytest.mark.long


def fuzz(mutants: int, seed: int, *formats: str) -> dict:
    seconds = 120 + mutants
    done = run_module("tests.data.readers.fuzz", mutants, seed, *formats, seconds=seconds)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_every_mutant_is_read_or_refused(record_property):
    outcome = fuzz(3000, 0)
    record_property("figure", str(outcome))
    assert outcome["mutants"] >= 3000
    assert outcome["refused"] > 1000
    assert outcome["read"] > 400  # damage that hits nothing but a feature
    assert outcome.get("unforeseen", 0) == 0
    assert outcome["rss_rise_mb"] < 64


@pytest.mark.nightly
def test_four_hundred_thousand_mutants_are_read_or_refused(record_property):
    outcome = fuzz(400_000, 1)
    record_property("figure", str(outcome))
    assert outcome["refused"] + outcome["read"] + outcome.get("unforeseen", 0) == 400_000
    assert outcome["rss_rise_mb"] < 64
