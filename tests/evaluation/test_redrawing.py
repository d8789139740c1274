"""Intervals over redrawn clips equal theory, and errors of clips add up to the metrics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data.task import Classification, Regression
from mmalign.evaluation.floors import score
from mmalign.evaluation.redrawing import clip_errors, redrawn_difference

TASK = Classification(("a", "b", "c"))
CLASSES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=20)


@given(CLASSES)
def test_errors_of_classes_are_what_accuracy_lacks(pairs):
    said, labels = (np.array(column) for column in zip(*pairs, strict=True))
    errors = clip_errors(TASK, said, labels)
    assert set(errors) <= {0, 1}
    assert 1 - np.mean(errors) == pytest.approx(score(TASK, said, labels)["accuracy"])


def test_errors_of_numbers_are_distances():
    said, labels = np.array([1.0, -2.5], np.float32), np.array([0.5, 1.0], np.float32)
    errors = clip_errors(Regression(), said, labels)
    assert errors == [0.5, 3.5]
    assert np.mean(errors) == pytest.approx(score(Regression(), said, labels)["mae"])


def test_the_interval_is_that_of_a_mean_where_seeds_agree():
    generator = np.random.default_rng(1)
    first, second = (generator.random((1, 400)).repeat(3, axis=0) for _ in range(2))
    found = redrawn_difference(first, second)
    changes = (first - second)[0]
    reach = 1.96 * changes.std() / np.sqrt(400)
    assert found.mean == pytest.approx(changes.mean())
    assert found.high - found.mean == pytest.approx(reach, rel=0.15)
    assert found.mean - found.low == pytest.approx(reach, rel=0.15)


def test_seeds_that_disagree_widen_it():
    clips = np.random.default_rng(1).integers(0, 2, (1, 100)).repeat(3, axis=0).astype(float)
    shifts = np.array([[0.0], [0.3], [-0.3]])
    calm, wild = (redrawn_difference(clips + s, 0 * clips) for s in (0, shifts))
    assert wild.high - wild.low > 1.5 * (calm.high - calm.low)


def test_equals_differ_by_nothing_and_a_constant_lead_is_sure():
    errors = np.random.default_rng(2).random((2, 30))
    same, ahead = redrawn_difference(errors, errors), redrawn_difference(errors + 1, errors)
    assert (same.mean, same.low, same.high, same.is_clear) == (0, 0, 0, False)
    assert (ahead.low, ahead.high) == pytest.approx((1, 1))
    assert ahead.is_clear


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    generator, hits = np.random.default_rng(3), 0
    for _ in range(40):
        wrong = (generator.random((1, 200)) < 0.3).repeat(2, axis=0).astype(float)
        found = redrawn_difference(wrong, np.full_like(wrong, 0.3))
        hits += found.low <= 0 <= found.high
    assert hits >= 34
