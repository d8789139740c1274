"""Weights of a network as the arrays that kernels read."""

from torch import Tensor

from mmalign.model.lines import Flat


def array_of(tensor: Tensor) -> Flat:
    """The numbers of a tensor, which it shares."""
    found: Flat = tensor.detach().numpy()
    return found
