"""Metrics equal scikit-learn's and scipy's, sample by sample."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from sklearn import metrics as sk

from mmalign.evaluation.metrics import classification_metrics, pearson, regression_metrics

# Values like those of the corpora: rounded, so that ties, zeros and half-way cases occur.
SCORES = st.integers(-40, 40).map(lambda n: n / 10)


@st.composite
def pairs(draw, elements, dtype):
    size = draw(st.integers(1, 40))
    return tuple(draw(hnp.arrays(dtype, size, elements=elements)) for _ in range(2))


@given(pairs(SCORES, np.float64))
def test_regression_metrics_equal_scikit_learn(pair):
    predictions, labels = pair
    ours = regression_metrics(predictions, labels)
    assert ours["mae"] == pytest.approx(sk.mean_absolute_error(labels, predictions), abs=1e-12)
    signed = labels != 0
    if signed.any():
        true, said = labels[signed] > 0, predictions[signed] > 0
        assert ours["acc2"] == pytest.approx(sk.accuracy_score(true, said), abs=1e-12)
        expected = sk.f1_score(true, said, average="weighted", zero_division=0)
        assert ours["f1"] == pytest.approx(expected, abs=1e-12)
    else:
        assert np.isnan(ours["acc2"])
    assert ours["acc2_with_zero"] == pytest.approx(sk.accuracy_score(labels >= 0, predictions >= 0))
    rounded = [np.clip(np.round(x), -3, 3) for x in pair]
    assert ours["acc7"] == pytest.approx(sk.accuracy_score(rounded[1], rounded[0]), abs=1e-12)


@given(pairs(st.integers(0, 3), np.int64))
def test_classification_metrics_equal_scikit_learn(pair):
    predictions, labels = pair
    ours = classification_metrics(predictions, labels, ["a", "b", "c", "d"])
    for average in ("weighted", "macro"):
        expected = sk.f1_score(labels, predictions, average=average, zero_division=0)
        assert ours[f"{average}_f1"] == pytest.approx(expected, abs=1e-12)
    assert ours["accuracy"] == pytest.approx(sk.accuracy_score(labels, predictions), abs=1e-12)
    each = sk.f1_score(labels, predictions, labels=range(4), average=None, zero_division=0)
    assert [ours[f"f1/{name}"] for name in "abcd"] == pytest.approx(each, abs=1e-12)


@given(pairs(SCORES, np.float64))
def test_correlation_equals_scipy_and_is_zero_for_a_constant(pair):
    first, second = pair
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        assert pearson(first, second) == pytest.approx(0, abs=1e-6)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = stats.pearsonr(first, second).statistic
    assert pearson(first, second) == pytest.approx(expected, abs=1e-9)


def test_the_paper_s_lower_bounds_are_constants():
    """Acc-2 of a predictor that always says the same is the share of that sign."""
    labels = np.array([1.0] * 42 + [-1.0] * 58)
    assert regression_metrics(np.full(100, 0.1), labels)["acc2"] == pytest.approx(0.42)
    assert regression_metrics(np.full(100, -0.1), labels)["acc2"] == pytest.approx(0.58)
