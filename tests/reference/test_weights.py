"""Training does what it did: the weights of every method are those of the frozen reference."""

import json
from pathlib import Path

import pytest

from tests.forked import run_module
from tests.reference.weights import METHODS, machine

pytestmark = pytest.mark.long

FROZEN = json.loads((Path(__file__).parent / "weights.json").read_text())


def test_weights_after_three_epochs_are_the_frozen_ones_to_the_bit():
    """In a process of its own: shape checks on every call would make it four times as long."""
    if machine() != FROZEN["machine"]:
        pytest.skip(f"the reference was made on {FROZEN['machine']}, this is {machine()}")
    done = run_module("tests.reference.weights")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["weights"]
    assert len(found) == 2 * len(METHODS)
    assert found == FROZEN["weights"]
