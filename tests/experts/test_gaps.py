"""Gaps are bridged in signals, and closed in lists of words."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmalign.experts.gaps import without_gaps


@given(st.lists(st.booleans(), min_size=1, max_size=30).filter(any), st.integers(0, 99))
def test_a_signal_is_interpolated_as_numpy_does_it(observed, seed):
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(len(observed), 3)).astype(np.float32)
    known = np.array(observed)
    gapped = np.where(known[:, None], steps, np.float32(np.nan))
    times = np.arange(len(steps))
    found = without_gaps(gapped, smooth=True)
    for channel in range(3):
        expected = np.interp(times, times[known], steps[known, channel])
        np.testing.assert_allclose(found[:, channel], expected, atol=1e-5)
    assert np.array_equal(without_gaps(gapped, smooth=False), steps[known])


def test_a_sequence_without_gaps_is_itself():
    steps = np.ones((4, 2), np.float32)
    assert without_gaps(steps, smooth=True) is steps
