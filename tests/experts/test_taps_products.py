"""Products are those of numpy, for any sizes, turns and shifts, and no place beyond is changed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmalign.experts.taps_products import SPARE, add_transposed_product, fill_products, once

SIZES = st.integers(1, 40)


def padded(rows):
    """Rows with room that whole tiles and vectors may touch; NaN would spoil what it reaches."""
    room = np.full((len(rows) + SPARE, rows.shape[1]), np.nan, np.float32)
    room[: len(rows)] = rows
    return room


def numbers(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@given(SIZES, SIZES, st.sampled_from([16, 32, 48]), st.integers(0, 99))
def test_rows_times_columns(rows, steps, lanes, seed):
    rng = np.random.default_rng(seed)
    a, b = numbers(rng, rows, steps), numbers(rng, steps, lanes)
    out = np.zeros((rows + SPARE, lanes), np.float32)
    place = padded(a), 0, steps, 1, b, 0, lanes
    fill_products(*place, once(steps), out, 0, lanes, rows, lanes)
    np.testing.assert_allclose(out[:rows], a @ b, atol=1e-4)
    assert (out[rows + 5 :] == 0).all()


@given(st.integers(1, 30), st.integers(1, 20), st.integers(0, 99))
def test_turns_make_a_convolution(rows, channels, seed):
    rng = np.random.default_rng(seed)
    offsets, lanes = [-2, 0, 1], 16
    given_rows, weights = numbers(rng, rows, channels), numbers(rng, 3, channels, lanes)
    apart = np.zeros((rows + 2 + SPARE, channels), np.float32)
    apart[2 : rows + 2] = given_rows
    turns = np.array(
        [(o * channels, n * channels * lanes, channels) for n, o in enumerate(offsets)]
    )
    out = np.empty((rows + SPARE, lanes), np.float32)
    place = apart, 2 * channels, channels, 1, weights, 0, lanes
    fill_products(*place, turns, out, 0, lanes, rows, lanes)
    expected = sum(apart[2 + o : 2 + o + rows] @ weights[n] for n, o in enumerate(offsets))
    np.testing.assert_allclose(out[:rows], expected, atol=1e-4)


@given(SIZES, SIZES, SIZES, st.integers(0, 99))
def test_a_transposed_product_is_added_to_its_part_alone(steps, rows, columns, seed):
    rng = np.random.default_rng(seed)
    left, right = numbers(rng, steps, rows), numbers(rng, steps, columns)
    total = numbers(rng, 3 + rows * (columns + 2) + 4)
    before = total.copy()
    add_transposed_product(
        padded(left), padded(right), once(steps), 0, rows, columns, total, 3, columns + 2
    )
    part = np.zeros((rows, columns + 2), np.float32)
    part[:, :columns] = left.T @ right
    expected = before.copy()
    expected[3 : 3 + part.size] += part.ravel()
    np.testing.assert_allclose(total, expected, atol=1e-4)
