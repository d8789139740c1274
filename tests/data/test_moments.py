"""Moments clip by clip, with numpy on the whole modality as oracle."""

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mmalign.data.columns import StoredColumn
from mmalign.data.moments import moments


@given(st.data(), st.integers(1, 4))
def test_they_are_what_numpy_says_of_all_steps_at_once(data, dim):
    numbers = st.floats(-1e3, 1e3, width=32)
    sequence = hnp.arrays(np.float32, st.tuples(st.integers(1, 5), st.just(dim)), elements=numbers)
    column = data.draw(st.lists(st.none() | sequence, max_size=8))
    found = moments(column)
    present = [steps for steps in column if steps is not None]
    if not present:
        assert found is None
        return
    steps = np.concatenate(present).astype(np.float64)
    np.testing.assert_allclose(found.mean, steps.mean(axis=0), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.variance, steps.var(axis=0), rtol=1e-10, atol=1e-10)


def test_a_large_offset_does_not_drown_the_variance():
    """Where the mean of squares minus the square of the mean would keep no digit."""
    random = np.random.default_rng(0)
    column = [(1e6 + random.standard_normal((9, 3))).astype(np.float32) for _ in range(500)]
    steps = np.concatenate(column).astype(np.float64)
    found = moments(column)
    np.testing.assert_allclose(found.mean, steps.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.variance, steps.var(axis=0), rtol=1e-10)


def test_no_more_than_a_clip_is_copied():
    stored = np.ones(2_000_000, np.float32).view(np.uint8)
    starts = np.arange(0, 8_000_000, 40_000)
    column = StoredColumn(stored, starts, np.full(200, 1000), 10)
    tracemalloc.start()
    found = moments(column)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.variance.tolist() == [0] * 10
    assert peak < 1_000_000  # the column has 8 MB


def test_small_and_large_units_keep_every_digit():
    random = np.random.default_rng(0)
    column = [random.standard_normal((n, 3)).astype(np.float32) for n in (4, 9, 2)]
    ordinary = moments(column)
    for factor in (2.0**-120, 2.0**-27, 2.0**60):
        found = moments([steps * np.float32(factor) for steps in column])
        np.testing.assert_array_equal(found.mean, ordinary.mean * factor)
        np.testing.assert_array_equal(found.variance, ordinary.variance * factor**2)
