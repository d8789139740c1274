"""Paired comparisons equal scipy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mmalign.errors import ConfigError
from mmalign.evaluation.significance import gap_recovered, paired_difference

SCORES = st.lists(
    st.tuples(st.floats(0, 1, width=16), st.floats(0, 1, width=16)), min_size=3, max_size=12
)


@given(SCORES)
def test_the_test_and_its_interval_equal_scipy(scores):
    first, second = (list(column) for column in zip(*scores, strict=True))
    ours = paired_difference(first, second)
    if np.std(np.subtract(first, second)) < 1e-9:
        assert ours.low == pytest.approx(ours.high, abs=1e-6)
        return
    theirs = stats.ttest_rel(first, second)
    interval = theirs.confidence_interval(0.95)
    assert ours.p_value == pytest.approx(theirs.pvalue, abs=1e-9)
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), abs=1e-9)
    assert ours.is_clear == (ours.low > 0 or ours.high < 0)


def test_too_few_or_unpaired_seeds_are_refused():
    with pytest.raises(ConfigError, match="two seeds or more, got 1"):
        paired_difference([1.0], [2.0])
    with pytest.raises(ConfigError, match="2 seeds against 3"):
        paired_difference([1.0, 2.0], [1.0, 2.0, 3.0])


def test_the_gap():
    assert gap_recovered(0.7, 0.7, 0.8) == 0
    assert gap_recovered(0.8, 0.7, 0.8) == 1
    assert np.isnan(gap_recovered(0.8, 0.7, 0.7))
