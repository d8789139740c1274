"""The exponentials of the kernels are exp to the last digits."""

import numpy as np

from mmalign.align.kernels.exponential import short_exponential


def test_single_precision_is_exp_within_two_units():
    exponents = np.linspace(-86.9, 5, 100_001).astype(np.float32)
    found = exponents.copy()
    short_exponential(found, len(found))
    expected = np.exp(exponents.astype(np.float64))
    assert (np.abs(found - expected) <= 2 * np.spacing(expected.astype(np.float32))).all()


def test_far_below_it_is_nothing_and_the_rest_is_left_alone():
    numbers = np.array([-np.inf, -1e30, -88.0, 0.0, -7.0], np.float32)
    short_exponential(numbers, 4)
    assert numbers.tolist() == [0.0, 0.0, 0.0, 1.0, -7.0]
