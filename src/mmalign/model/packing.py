"""Weights as flat arrays, in the manner in which the kernels of one clip read them."""

from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Float32
from torch import Tensor, nn

Flat = Float32[np.ndarray, "..."]
LANES = 16
"""Lines of a matrix are filled up with zeros to whole vectors of so many numbers."""


def in_vectors(count: int) -> int:
    """The count rounded up to whole vectors."""
    return -(-count // LANES) * LANES


def packed_linear(layer: nn.Linear) -> Iterator[Flat]:
    """A line for each input, and the bias."""
    return packed_matrix(layer.weight, layer.bias)


def packed_matrix(weight: Tensor, bias: Tensor) -> Iterator[Flat]:
    """The same of a matrix that has a line for each output."""
    yield padded(array_of(weight).T)
    yield padded(array_of(bias)[None])


def padded(lines: Float32[np.ndarray, "lines numbers"]) -> Flat:
    """The lines one after the other, each filled up to whole vectors."""
    missing = in_vectors(lines.shape[1]) - lines.shape[1]
    return (np.pad(lines, ((0, 0), (0, missing))) if missing else lines).reshape(-1)


def joined(*parts: Iterable[Flat]) -> Flat:
    """All of them, one after the other."""
    return np.concatenate([one.reshape(-1) for part in parts for one in part])


def array_of(tensor: Tensor) -> Flat:
    """The numbers of a tensor, which it shares."""
    found: Flat = tensor.detach().numpy()
    return found
