"""Chance inside compiled loops: the same seed hits the same places, forward and back."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import inlined


@inlined
@no_type_check
def is_kept(place, seed, dropped):
    """Whether dropout keeps the number at a place: a hash of the place decides.

    ``dropped`` of 256 numbers are hit.
    """
    x = np.uint32(np.uint32(place) * np.uint32(0x9E3779B1) + seed)
    x = np.uint32(x ^ (x >> np.uint32(16)))
    x = np.uint32(x * np.uint32(0x85EBCA6B))
    x = np.uint32(x ^ (x >> np.uint32(13)))
    x = np.uint32(x * np.uint32(0xC2B2AE35))
    return np.uint32(x >> np.uint32(24)) >= dropped
