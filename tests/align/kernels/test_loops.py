"""Sums over registers: exact where numbers are whole, and in one order wherever arrays lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.loops import dot, total_of


@compiled
def both_sums(left, i, right, j, count):
    return total_of(left, i, count), dot(left, i, right, j, count)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.integers(0, 70), st.integers(0, 20), st.integers(0, 20), st.integers(0, 2**32 - 1))
def test_sums_of_whole_numbers_are_numpys(dtype, count, i, j, seed):
    left, right = np.random.default_rng(seed).integers(-9, 9, (2, 100)).astype(dtype)
    total, product = both_sums(left, i, right, j, count)
    assert total == left[i : i + count].sum()
    assert product == left[i : i + count] @ right[j : j + count]


def test_where_numbers_lie_does_not_change_their_sum():
    numbers = np.random.default_rng(0).normal(size=77).astype(np.float32)
    room = np.empty(400, np.float32)
    found = set()
    for i in range(0, 60, 7):
        for j in range(i + 77, 200, 7):
            room[i : i + 77] = room[j : j + 77] = numbers
            found.add(both_sums(room, i, room, j, 77))
    assert len(found) == 1
