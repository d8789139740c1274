"""Products are those of numpy, for any sizes, turns and shifts, and no place beyond is changed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmalign.align.kernels.tiled import (
    LANES,
    TOUCHED,
    fill_products,
    once,
    side_by_side,
    sum_products,
)

SIZES = st.integers(1, 40)
VECTORS = st.integers(1, 9)  # tiles are one to three vectors wide


def padded(rows):
    """Rows with room that whole tiles may touch; NaN would spoil what it reaches."""
    room = np.full((len(rows) + TOUCHED, rows.shape[1]), np.nan, np.float32)
    room[: len(rows)] = rows
    return room


def numbers(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@given(SIZES, SIZES, VECTORS, st.integers(0, 99))
def test_rows_times_columns(rows, steps, vectors, seed):
    rng, lanes = np.random.default_rng(seed), vectors * LANES
    a, b = numbers(rng, rows, steps), numbers(rng, steps, lanes)
    out = np.zeros((rows + TOUCHED + 3, lanes), np.float32)
    place = padded(a), 0, steps, 1, b, 0, lanes
    fill_products(*place, once(steps), side_by_side(lanes), out, 0, lanes, rows)
    np.testing.assert_allclose(out[:rows], a @ b, atol=1e-4)
    assert (out[rows + TOUCHED :] == 0).all()


@given(st.integers(1, 30), st.integers(1, 20), st.integers(0, 99))
def test_turns_make_a_convolution(rows, channels, seed):
    rng = np.random.default_rng(seed)
    offsets, lanes = [-2, 0, 1], 16
    given_rows, weights = numbers(rng, rows, channels), numbers(rng, 3, channels, lanes)
    apart = np.zeros((rows + 2 + TOUCHED, channels), np.float32)
    apart[2 : rows + 2] = given_rows
    turns = np.array(
        [(o * channels, n * channels * lanes, channels) for n, o in enumerate(offsets)]
    )
    out = np.empty((rows + TOUCHED, lanes), np.float32)
    place = apart, 2 * channels, channels, 1, weights, 0, lanes
    fill_products(*place, turns, side_by_side(lanes), out, 0, lanes, rows)
    expected = sum(apart[2 + o : 2 + o + rows] @ weights[n] for n, o in enumerate(offsets))
    np.testing.assert_allclose(out[:rows], expected, atol=1e-4)


@given(SIZES, SIZES, VECTORS, st.booleans(), st.integers(0, 99))
def test_sums_begin_with_a_bias_or_with_what_is_there(rows, steps, vectors, has_bias, seed):
    rng, lanes = np.random.default_rng(seed), vectors * LANES
    a, b = numbers(rng, rows, steps), numbers(rng, steps, lanes)
    out = padded(numbers(rng, rows, lanes))
    first = numbers(rng, 1, lanes) if has_bias else out
    expected = first[: len(out) - TOUCHED] + a @ b
    place = padded(a), 0, steps, 1, b, 0, lanes
    begin = first, 0, 0 if has_bias else lanes
    sum_products(*place, once(steps), side_by_side(lanes), *begin, out, 0, lanes, rows)
    np.testing.assert_allclose(out[:rows], expected, atol=1e-4)
