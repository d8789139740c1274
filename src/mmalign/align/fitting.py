"""The distance between a predicted plan and a solved one."""

from types import ModuleType
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mmalign.align.band import is_inside
from mmalign.align.checks import check_lengths, window_of
from mmalign.align.compiled import can_compile, kernels


def fit_loss(
    predicted: Float[Tensor, "batch time width"],
    plan: Float[Tensor, "batch time width"],
    *,
    source_lengths: Int[Tensor, " batch"] | None = None,
    target_lengths: Int[Tensor, " batch"] | None = None,
) -> Float[Tensor, ""]:
    """Mean squared error over the entries inside window and sequence, all clips pooled.

    Paper: Eq. eq:fit_loss; differs: no square root, and entries outside the sequence do not
    count (design E6). What either plan holds outside is never read and gets no gradient.

    Raises:
        AlignmentError: shapes or lengths do not fit together.

    >>> plan = torch.tensor([[[9.0, 1.0, 0.0], [0.0, 1.0, 9.0]]])
    >>> fit_loss(torch.full((1, 2, 3), 0.5), plan).item()
    0.25
    """
    batch, time, width = predicted.shape
    rows, columns = check_lengths(
        source_lengths, target_lengths, shape=(batch, time), like=predicted
    )
    carry = kernels("align.kernels.carry") if can_compile(predicted, plan) else None
    if carry is not None:
        loss: Tensor = _CompiledFitLoss.apply(  # type: ignore[no-untyped-call]
            predicted, plan, rows, columns, carry
        )
        return loss
    inside = is_inside(rows, columns, window=window_of(width), time=time)
    error = (predicted - plan).masked_fill(~inside, 0.0)
    return error.square().sum() / inside.sum()


class _CompiledFitLoss(Function):
    """One compiled pass that leaves behind what the backward pass needs: the difference."""

    @staticmethod
    def forward(
        ctx: Any,
        predicted: Tensor,
        plan: Tensor,
        rows: Tensor,
        columns: Tensor,
        carry: ModuleType,
    ) -> Tensor:
        difference = torch.empty_like(predicted, memory_format=torch.contiguous_format)
        inputs = (predicted.contiguous(), plan.contiguous(), rows, columns, difference)
        total, count = carry.fit_loss_forward(*(tensor.detach().numpy() for tensor in inputs))
        ctx.save_for_backward(difference)
        ctx.count = count
        return predicted.new_empty(()).fill_(total / count)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (difference,) = ctx.saved_tensors
        to_predicted = difference * (gradient * (2.0 / ctx.count))
        return to_predicted, -to_predicted if ctx.needs_input_grad[1] else None, None, None, None
