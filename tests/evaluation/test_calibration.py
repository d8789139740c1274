"""Calibration error and reliability bins, beside a loop that does it clip by clip."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.evaluation.calibration import expected_calibration_error, reliability_bins


def naive_error(shares, labels) -> float:
    """Each bin by itself, each clip by itself."""
    total = 0.0
    for number in range(15):
        low, high = number / 15, (number + 1) / 15
        right, sure, count = 0, 0.0, 0
        for row, label in zip(shares, labels, strict=True):
            confidence = max(row)
            if low < confidence <= high:
                count += 1
                sure += confidence
                right += list(row).index(confidence) == label
        if count:
            total += count / len(labels) * abs(right / count - sure / count)
    return total


@given(st.integers(1, 60), st.integers(2, 5), st.integers(0, 1000))
def test_the_error_is_that_of_a_naive_loop(clips, classes, seed):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(classes), size=clips)
    labels = rng.integers(0, classes, clips)
    expected = naive_error(shares, labels)
    assert expected_calibration_error(shares, labels) == pytest.approx(expected, abs=1e-12)
    bins = reliability_bins(shares, labels)
    assert sum(one.clips for one in bins) == clips
    assert all(one.low < one.confidence <= one.high + 1e-12 for one in bins)


def test_extremes():
    sure = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert expected_calibration_error(sure, np.array([1, 1])) == 1
    assert expected_calibration_error(sure, np.array([0, 0])) == 0
    assert np.isnan(expected_calibration_error(sure[:0], np.array([], np.int64)))
    assert reliability_bins(sure[:0], np.array([], np.int64)) == []
