"""A vector of dropout's factors hits the places that one number at a time does."""

import numpy as np
import pytest

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.simd import store
from mmalign.model.kernels.chance import factors_at, is_kept


@compiled
def in_vectors(first, seed, dropped, louder, out):
    for k in range(0, len(out), 16):
        store(factors_at(first + k, seed, dropped, louder), out, k)


@compiled
def one_by_one(first, seed, dropped, out):
    for k in range(len(out)):
        out[k] = is_kept(np.uint32(first + k), seed, dropped)


@pytest.mark.parametrize("first", [0, 5, 2**32 - 40])
@pytest.mark.parametrize("dropped", [0, 26, 128, 255])
def test_vectors_and_numbers_agree(first, dropped):
    kept, factors = np.empty(4096, np.bool_), np.empty(4096, np.float32)
    chance = np.uint32(977), np.uint32(dropped)
    one_by_one(first, *chance, kept)
    in_vectors(first, *chance, np.float32(1.5), factors)
    np.testing.assert_array_equal(factors, np.where(kept, np.float32(1.5), 0))
    assert abs(kept.mean() - (1 - dropped / 256)) < 0.03
