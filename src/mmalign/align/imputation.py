"""Imputation: the source sequence carried through a plan."""

from types import ModuleType
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mmalign.align.band import band_columns
from mmalign.align.checks import check_lengths, window_of
from mmalign.align.compiled import can_compile, kernels


def impute(
    mass: Float[Tensor, "batch time width"],
    source: Float[Tensor, "batch time dim"],
    *,
    source_lengths: Int[Tensor, " batch"] | None = None,
    target_lengths: Int[Tensor, " batch"] | None = None,
    target_time: int | None = None,
) -> Float[Tensor, "batch target_time dim"]:
    """The target's sequence: each step a convex combination of source steps.

        imputed_j = sum_i mass_ij source_i / sum_i mass_ij

    Paper: Eq. eq:imp; differs: divided by the column's mass (design E7), so that a predicted plan,
    whose columns need not sum to n/m, still gives a convex combination. A column without any mass
    has nothing to combine: its step is 0 and passes no gradient. So are steps of padding.

    Args:
        mass: a plan, solved or predicted; what it holds outside the band is never read.
        source: the sequences that are carried; padding may hold anything.
        source_lengths: steps of each source sequence; None means all.
        target_lengths: steps of each target sequence; None means as many as the source.
        target_time: padded time of the answer; None means ``time`` without ``target_lengths`` and
            the longest of them otherwise.

    Raises:
        AlignmentError: shapes or lengths do not fit together.

    >>> shift = torch.tensor([[[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]])
    >>> impute(shift, torch.tensor([[[1.0], [2.0], [3.0]]]))[0, :, 0].tolist()
    [0.0, 1.0, 2.5]
    """
    batch, time, width = mass.shape
    rows, columns = check_lengths(
        source_lengths, target_lengths, shape=(batch, time), like=mass, target_time=target_time
    )
    if target_time is None:
        target_time = time if target_lengths is None else int(columns.max())
    window = window_of(width)
    carry = kernels("align.kernels.carry") if can_compile(mass, source) else None
    if carry is not None:
        imputed: Tensor = _CompiledImpute.apply(  # type: ignore[no-untyped-call]
            mass, source, rows, columns, target_time, carry
        )
        return imputed
    place = band_columns(rows, columns, window=window, time=time)
    return _impute_by_diagonals(mass, source, place, target_time)


class _CompiledImpute(Function):
    """The compiled forward and backward pass, one clip at a time inside the cache."""

    @staticmethod
    def forward(
        ctx: Any,
        mass: Tensor,
        source: Tensor,
        rows: Tensor,
        columns: Tensor,
        target_time: int,
        carry: ModuleType,
    ) -> Tensor:
        mass, source = mass.contiguous(), source.contiguous()
        imputed = mass.new_empty(mass.shape[0], target_time, source.shape[2])
        column_mass = mass.new_empty(imputed.shape[:2])
        inputs = (mass, source, rows, columns, imputed, column_mass)
        carry.impute_forward(*(tensor.detach().numpy() for tensor in inputs))
        ctx.save_for_backward(*inputs)
        ctx.carry = carry
        return imputed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        inputs = ctx.saved_tensors
        to_mass, to_source = torch.empty_like(inputs[0]), torch.empty_like(inputs[1])
        tensors = (gradient.clone(memory_format=torch.contiguous_format), *inputs)
        outputs = (to_mass, to_source)
        ctx.carry.impute_backward(*(tensor.detach().numpy() for tensor in (*tensors, *outputs)))
        return to_mass, to_source, None, None, None, None


def _impute_by_diagonals(mass: Tensor, source: Tensor, place: Tensor, target_time: int) -> Tensor:
    """Adds up one diagonal of the band after the other, on any device."""
    batch, _, dim = source.shape
    mass = mass.masked_fill(place < 0, 0.0)
    # Entries outside, and with them whatever padding holds, are parked in an extra last step of
    # each clip, which is dropped.
    stride = target_time + 1
    first = torch.arange(batch, device=mass.device)[:, None, None] * stride
    index = (torch.where(place < 0, target_time, place) + first).view(-1, place.shape[2])
    total = mass.new_zeros(batch * stride, dim)
    column_mass = mass.new_zeros(batch * stride)
    for k, entry in enumerate(mass.unbind(-1)):
        total = total.index_add(0, index[:, k], (entry[..., None] * source).view(-1, dim))
        column_mass = column_mass.index_add(0, index[:, k], entry.reshape(-1))
    is_empty = column_mass < torch.finfo(mass.dtype).tiny
    imputed = total / column_mass.masked_fill(is_empty, 1.0)[:, None]
    imputed = imputed.masked_fill(is_empty[:, None], 0.0)
    return imputed.view(batch, stride, dim)[:, :target_time]
