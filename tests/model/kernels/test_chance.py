"""Dropout's factors hit the places that a hash chooses, the same from wherever a vector begins."""

import numpy as np
import pytest

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.simd import store
from mmalign.model.kernels.chance import factors_at


@compiled
def in_vectors(first, seed, dropped, louder, out):
    for k in range(0, len(out), 16):
        store(factors_at(first + k, seed, dropped, louder), out, k)


def is_kept(places, seed, dropped):
    """What the kernel does, one operation of numpy after the other."""
    x = places.astype(np.uint32) * np.uint32(0x9E3779B1) + np.uint32(seed)
    x = (x ^ (x >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return x >> np.uint32(24) >= dropped


@pytest.mark.parametrize("first", [0, 5, 2**32 - 40])
@pytest.mark.parametrize("dropped", [0, 26, 128, 255])
def test_vectors_and_numpy_agree(first, dropped):
    factors = np.empty(4096, np.float32)
    in_vectors(first, np.uint32(977), np.uint32(dropped), np.float32(1.5), factors)
    kept = is_kept(first + np.arange(4096), 977, dropped)
    np.testing.assert_array_equal(factors, np.where(kept, np.float32(1.5), 0))
    assert abs(kept.mean() - (1 - dropped / 256)) < 0.03
