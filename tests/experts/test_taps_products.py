"""Transposed products are those of numpy, for any sizes and places; nothing else is changed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmalign.align.kernels.tiled import LANES, once, side_by_side
from mmalign.experts.taps_products import SPARE, add_transposed_product

SIZES = st.integers(1, 40)
VECTORS = st.integers(1, 9)  # tiles are one to three vectors wide


def padded(rows):
    """Rows with room that whole tiles and vectors may touch; NaN would spoil what it reaches."""
    room = np.full((len(rows) + SPARE, rows.shape[1]), np.nan, np.float32)
    room[: len(rows)] = rows
    return room


def numbers(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@given(SIZES, SIZES, VECTORS, st.integers(0, 99))
def test_a_transposed_product_is_added_to_its_part_alone(steps, rows, vectors, seed):
    rng, columns = np.random.default_rng(seed), vectors * LANES
    left, right = numbers(rng, steps, rows), numbers(rng, steps, columns)
    total = numbers(rng, 3 + rows * columns + 4)
    expected = total.copy()
    add_transposed_product(
        padded(left), padded(right), once(steps), side_by_side(columns), rows, total, 3
    )
    expected[3 : 3 + rows * columns] += (left.T @ right).ravel()
    np.testing.assert_allclose(total, expected, atol=1e-4)


@given(st.integers(1, 30), st.integers(0, 99))
def test_vectors_may_lie_anywhere_in_a_matrix(steps, seed):
    rng = np.random.default_rng(seed)
    left, right = numbers(rng, steps, 5), numbers(rng, steps + 3, LANES)
    offsets = np.array([2, 0, 3])
    vectors = np.stack([offsets * LANES, np.arange(3) * LANES], axis=1)
    total = np.zeros(5 * 3 * LANES, np.float32)
    add_transposed_product(padded(left), padded(right), once(steps), vectors, 5, total, 0)
    windows = np.concatenate([right[n : n + steps] for n in offsets], axis=1)
    np.testing.assert_allclose(total.reshape(5, -1), left.T @ windows, atol=1e-4)
