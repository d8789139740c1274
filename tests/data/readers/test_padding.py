"""Where padded clips begin and end."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data.readers.padding import (
    bounds_from_lengths,
    bounds_of,
    padding_side,
    used_steps,
)

LENGTHS = st.lists(st.integers(0, 9), min_size=1, max_size=8)


def padded(lengths, time, *, front):
    used = np.zeros((len(lengths), time), dtype=bool)
    for row, length in enumerate(lengths):
        used[row, time - length :] = True if front else used[row, time - length :]
        used[row, :length] = used[row, :length] if front else True
    return used


@given(LENGTHS, st.booleans())
def test_lengths_are_recovered_on_either_side(lengths, front):
    used = padded(lengths, 9, front=front)
    side = padding_side([used])
    bounds = bounds_of(used, side)
    assert (bounds[:, 1] - bounds[:, 0]).tolist() == lengths
    if any(0 < length < 9 for length in lengths):
        assert side == ("front" if front else "end")


def test_full_clips_have_no_padding():
    assert padding_side([np.ones((3, 4), dtype=bool)]) == "none"


def test_nan_and_infinity_are_used_steps():
    array = np.zeros((1, 4, 2))
    array[0, 1, 0], array[0, 2, 1] = np.nan, -np.inf
    assert used_steps(array).tolist() == [[False, True, True, False]]


def test_lengths_beyond_the_array_are_cut():
    bounds = bounds_from_lengths(np.array([0, 3, 99]), 5)
    assert bounds.tolist() == [[0, 0], [0, 3], [0, 5]]


def test_no_steps_at_all():
    used = np.zeros((2, 0), dtype=bool)
    assert bounds_of(used, padding_side([used])).tolist() == [[0, 0], [0, 0]]
