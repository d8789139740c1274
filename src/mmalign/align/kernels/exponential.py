"""An exponential that becomes SIMD code on every CPU, which math.exp does not."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.simd import (
    everywhere,
    larger,
    plus,
    plus_product,
    power_of_two,
    times,
    where_positive,
)

# exp(x) = 2^k exp(r) with k = round(x / log 2) and |r| <= log(2) / 2. Adding MAGIC rounds to an
# integer and leaves that integer in the lowest bits of the float, ready to become an exponent.
MAGIC = 1.5 * 2.0**52
LOG2_E = 1.4426950408889634
LOG_2_HIGH = 0.693147180369123816490
LOG_2_LOW = 1.90821492927058770002e-10
LOWEST = -708.0  # below, exp is no normal number any more and becomes exactly 0

# The same for float32.
SHORT_MAGIC = np.float32(1.5 * 2.0**23)
SHORT_LOG2_E = np.float32(1.44269504)
SHORT_LOG_2_HIGH = np.float32(0.693359375)
SHORT_LOG_2_LOW = np.float32(-2.12194440e-4)
SHORT_LOWEST = np.float32(-87.0)
NOTHING, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)
THIRD_TERM, FOURTH_TERM = np.float32(1 / 6), np.float32(1 / 24)
FIFTH_TERM, SIXTH_TERM = np.float32(1 / 120), np.float32(1 / 720)
SEVENTH_TERM = np.float32(1 / 5040)


@compiled
@no_type_check
def exponential(exponents):
    """Exponents become exp of them, within 1 ulp of float64; exactly 0 below -708 and at -inf.

    Exponents above 709 are not expected. In place: two arrays that might overlap cost the SIMD.
    """
    for i in range(exponents.size):
        exponent = np.float64(exponents[i])
        x = max(exponent, LOWEST)
        shifted = x * LOG2_E + MAGIC
        k = shifted - MAGIC
        r = x - k * LOG_2_HIGH - k * LOG_2_LOW
        p = 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        exponents[i] = p * power_of_two(shifted) if exponent > LOWEST else 0.0


@compiled
@no_type_check
def short_exponential(exponents, count):
    """The first exponents become exp of them, within 2 ulp of float32; 0 below -87 and at -inf.

    Exponents above 88 are not expected. Twice as many fit into a register, and half the terms do.
    """
    for i in range(count):
        exponent = exponents[i]
        x = max(exponent, SHORT_LOWEST)
        shifted = x * SHORT_LOG2_E + SHORT_MAGIC
        k = shifted - SHORT_MAGIC
        r = x - k * SHORT_LOG_2_HIGH - k * SHORT_LOG_2_LOW
        p = SEVENTH_TERM * r + SIXTH_TERM
        p = p * r + FIFTH_TERM
        p = p * r + FOURTH_TERM
        p = p * r + THIRD_TERM
        p = p * r + HALF
        p = p * r + ONE
        p = p * r + ONE
        exponents[i] = p * power_of_two(shifted) if exponent > SHORT_LOWEST else NOTHING


@inlined
@no_type_check
def exponential_of(exponents):
    """The same for a vector that stays in its register."""
    x = larger(exponents, everywhere(SHORT_LOWEST))
    shifted = plus_product(everywhere(SHORT_MAGIC), x, everywhere(SHORT_LOG2_E))
    k = plus(shifted, everywhere(-SHORT_MAGIC))
    r = plus_product(x, k, everywhere(-SHORT_LOG_2_HIGH))
    r = plus_product(r, k, everywhere(-SHORT_LOG_2_LOW))
    p = plus_product(everywhere(SIXTH_TERM), r, everywhere(SEVENTH_TERM))
    for term in (FIFTH_TERM, FOURTH_TERM, THIRD_TERM, HALF, ONE, ONE):
        p = plus_product(everywhere(term), p, r)
    is_above = plus(exponents, everywhere(-SHORT_LOWEST))
    return where_positive(is_above, times(p, power_of_two(shifted)))
