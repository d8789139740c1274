"""Sequences and lengths as users hand them over, as tensors that every solver takes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from mmalign.errors import AlignmentError

Source = Float[Tensor, "... time dim"] | Float[np.ndarray, "... time dim"]
Target = (
    Float[Tensor, "... target_time target_dim"] | Float[np.ndarray, "... target_time target_dim"]
)
Lengths = Int[Tensor, "..."] | Int[np.ndarray, "..."] | Sequence[int] | int


def as_batch(side: str, steps: Source | Target) -> Tensor:
    """The sequences as one dense tensor of floats `[batch, time, dim]`.

    Raises:
        AlignmentError: If they are something else.
    """
    tensor = _from_numpy(side, steps) if isinstance(steps, np.ndarray) else steps
    if not isinstance(tensor, Tensor) or tensor.layout != torch.strided or tensor.is_meta:
        kind = f"a {type(steps).__name__}"
        kind += f" ({tensor.layout}, {tensor.device})" if isinstance(tensor, Tensor) else ""
        raise AlignmentError(f"{side} must be a dense tensor or array of floats, got {kind}")
    if tensor.ndim not in (2, 3) or not tensor.is_floating_point():
        raise AlignmentError(
            f"{side} must be floats of shape [time, dim] or [batch, time, dim], "
            f"got {tensor.dtype} of shape {tuple(tensor.shape)}"
        )
    tensor = tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()
    return tensor if tensor.ndim == 3 else tensor[None]


def as_lengths(side: str, lengths: Lengths | None, like: Tensor) -> Tensor | None:
    """The lengths as int64, where the sequences are.

    Raises:
        AlignmentError: If they are no whole numbers.
    """
    if lengths is None:
        return None
    if isinstance(lengths, Tensor):
        is_whole = not (lengths.is_floating_point() or lengths.is_complex())
        is_whole = is_whole and lengths.dtype != torch.bool and lengths.layout == torch.strided
        if is_whole and not lengths.is_meta and lengths.ndim < 2:
            return lengths.to(like.device, torch.int64).reshape(-1)
        raise _no_lengths(side, str(lengths.dtype))
    return torch.from_numpy(_whole(side, lengths)).to(like.device)


def _from_numpy(side: str, array: np.ndarray) -> Tensor:
    """A tensor of the array, whatever its byte order and strides; the same memory if it can be."""
    if array.dtype.kind != "f" or isinstance(array, np.ma.MaskedArray):
        raise AlignmentError(
            f"{side} must be floats of shape [time, dim] or [batch, time, dim], got "
            f"{type(array).__name__} of {array.dtype} and shape {array.shape}"
        )
    kind = f"f{min(array.dtype.itemsize, 8)}"
    # Torch knows no negative strides, and would write to what is read-only.
    return torch.from_numpy(np.require(array, kind, ["C", "WRITEABLE", "ENSUREARRAY"]))


def _whole(side: str, lengths: Any) -> Int[np.ndarray, " batch"]:
    try:
        array = np.asarray(lengths)
    except (ValueError, TypeError, OverflowError) as error:
        raise _no_lengths(side, type(lengths).__name__) from error
    if array.dtype.kind not in "iu" or array.dtype == np.uint64 or array.ndim > 1:
        raise _no_lengths(side, f"{type(lengths).__name__} of {array.dtype}")
    return np.atleast_1d(array).astype(np.int64)


def _no_lengths(side: str, got: str) -> AlignmentError:
    return AlignmentError(f"{side} lengths must be whole numbers, one per clip, got {got}")
