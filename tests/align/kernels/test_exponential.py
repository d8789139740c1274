"""The exponentials of the kernels are exp to the last digits."""

import numpy as np
import pytest

from mmalign.align.kernels.exponential import exponential_of, short_exponential
from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.simd import load, store


@compiled
def in_vectors(exponents, count):
    for k in range(0, count, 16):
        store(exponential_of(load(exponents, k)), exponents, k)


@pytest.mark.parametrize("exponentiate", [short_exponential, in_vectors])
def test_single_precision_is_exp_within_two_units(exponentiate):
    exponents = np.linspace(-86.9, 5, 100_000).astype(np.float32)
    found = exponents.copy()
    exponentiate(found, len(found))
    expected = np.exp(exponents.astype(np.float64))
    assert (np.abs(found - expected) <= 2 * np.spacing(expected.astype(np.float32))).all()


def test_far_below_it_is_nothing_and_the_rest_is_left_alone():
    numbers = np.array([-np.inf, -1e30, -88.0, 0.0, -7.0], np.float32)
    short_exponential(numbers, 4)
    assert numbers.tolist() == [0.0, 0.0, 0.0, 1.0, -7.0]


def test_a_vector_far_below_is_nothing():
    numbers = np.array([-np.inf, -1e30, -88.0, -87.0, *[0.0] * 12], np.float32)
    in_vectors(numbers, 16)
    assert numbers.tolist() == [0.0] * 4 + [1.0] * 12
