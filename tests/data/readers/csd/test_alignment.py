"""Frames to words."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data.readers.csd.alignment import mean_over_words, overlapping

POINTS = st.lists(st.integers(0, 50), min_size=2, max_size=2, unique=True).map(sorted)


@given(st.lists(POINTS, min_size=1, max_size=10), POINTS)
def test_overlap_is_more_than_a_point(intervals, span):
    array = np.array(intervals, dtype=np.float64)
    start, end = map(float, span)
    expected = [n for n, (a, b) in enumerate(intervals) if min(b, end) > max(a, start)]
    assert overlapping(array, start, end).tolist() == expected


def test_each_word_is_the_mean_of_its_frames():
    features = np.arange(8, dtype=np.float32).reshape(4, 2)
    frames = np.array([[0.0, 1], [1, 2], [2, 3], [3, 4]])
    words = np.array([[0.0, 2], [2.5, 2.75], [9, 10]])
    steps, uncovered = mean_over_words(features, frames, words)
    np.testing.assert_array_equal(steps, [[1, 2], [4, 5], [0, 0]])
    assert uncovered == 1


def test_non_finite_frames_stay_non_finite():
    features = np.array([[np.nan], [-np.inf], [1.0]], dtype=np.float32)
    frames = np.array([[0.0, 1], [1, 2], [2, 3]])
    steps, _ = mean_over_words(features, frames, np.array([[0.0, 1], [1, 3]]))
    assert np.isnan(steps[0, 0])
    assert np.isneginf(steps[1, 0])
