"""Weights as flat arrays, in the manner in which the kernels of one clip read them."""

from collections.abc import Iterator

from torch import Tensor, nn

from mmalign.model.lines import Flat, in_vectors, joined, padded

__all__ = ["Flat", "array_of", "in_vectors", "joined", "packed_linear", "packed_matrix", "padded"]


def packed_linear(layer: nn.Linear) -> Iterator[Flat]:
    """A line for each input, and the bias."""
    return packed_matrix(layer.weight, layer.bias)


def packed_matrix(weight: Tensor, bias: Tensor) -> Iterator[Flat]:
    """The same of a matrix that has a line for each output."""
    yield padded(array_of(weight).T)
    yield padded(array_of(bias)[None])


def array_of(tensor: Tensor) -> Flat:
    """The numbers of a tensor, which it shares."""
    found: Flat = tensor.detach().numpy()
    return found
