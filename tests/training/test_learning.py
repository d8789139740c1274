"""On the synthetic twin, where the truth is known: the alignment is found, imitated and used."""

import json

import pytest

from tests.forked import run_module

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def learned() -> dict:
    done = run_module("tests.training.learning")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_solver_and_fitter_find_the_true_lag(learned):
    assert learned["solver"] >= 0.9
    assert learned["fitter"] >= 0.75


def test_the_alignment_is_used(learned):
    """A uniform plan in place of the predicted one costs ten points and more."""
    assert learned["improved"]["A"] - learned["uniform plan"] >= 0.10


@pytest.mark.parametrize("blind", ["zero-fill", "zero-fill, improved"])
def test_zero_fill_is_beaten_with_the_switches_and_without(learned, blind):
    for setting in ("A", "B"):
        assert learned["improved"][setting] - learned[blind][setting] > 0.1


def test_validation_chooses_the_epoch(learned):
    for setting, epoch in learned["epochs"].items():
        scores = learned["valid"][setting]
        assert scores[epoch - 1] == max(scores)
