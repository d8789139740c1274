"""Lines of numbers, filled up to whole vectors: how kernels of one clip read weights. No torch."""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float32

Flat = Float32[np.ndarray, "..."]
LANES = 16
"""Lines of a matrix are filled up with zeros to whole vectors of so many numbers."""


def in_vectors(count: int) -> int:
    """The count rounded up to whole vectors."""
    return -(-count // LANES) * LANES


def padded(lines: Float32[np.ndarray, "lines numbers"]) -> Flat:
    """The lines one after the other, each filled up to whole vectors."""
    missing = in_vectors(lines.shape[1]) - lines.shape[1]
    return (np.pad(lines, ((0, 0), (0, missing))) if missing else lines).reshape(-1)


def joined(*parts: Iterable[Flat]) -> Flat:
    """All of them, one after the other."""
    return np.concatenate([one.reshape(-1) for part in parts for one in part])
