"""The layers of the taps network that are no matrix products, compiled where that is possible.

Each has its slopes beside it. Torch goes from operator to operator and back; compiled, a layer is
one call, and a training step takes half the time. Elsewhere (on a GPU, without Numba) the same is
said in torch's own operators; both agree to rounding, but for which numbers dropout hits.
"""

from types import ModuleType
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from mmalign.align.compiled import can_compile, kernels
from mmalign.model.dropout import dropout

Steps = Float[Tensor, "batch time dim"]
Lengths = Int[Tensor, " batch"]


def shifted(
    steps: Steps, lengths: Lengths, offsets: tuple[int, ...]
) -> Float[Tensor, "batch time wide"]:
    """Each step beside the steps at these offsets; beyond a clip's ends there are zeros."""
    compiled = _kernels(steps)
    if compiled is not None:
        beside: Tensor = _Shifted.apply(steps, lengths, offsets, compiled)  # type: ignore[no-untyped-call]
        return beside
    time, reach = steps.shape[1], max(abs(offset) for offset in offsets)
    padded = functional.pad(_kept(steps, lengths), (0, 0, reach, reach))
    parts = [padded[:, reach + o : reach + o + time] for o in offsets]
    return _kept(torch.cat(parts, dim=-1), lengths)


def highest(steps: Steps, lengths: Lengths) -> Steps:
    """The maximum of each step and its two neighbours; nothing may be negative."""
    compiled = _kernels(steps)
    if compiled is not None:
        found: Tensor = _Highest.apply(steps, lengths, compiled)  # type: ignore[no-untyped-call]
        return found
    columns = _kept(steps, lengths).transpose(1, 2)
    near = functional.max_pool1d(columns, 3, stride=1, padding=1)
    return _kept(near.transpose(1, 2), lengths)


def finished(
    far: Float[Tensor, "batch time wide"],
    near: Float[Tensor, "batch time narrow"],
    steps: Steps,
    lengths: Lengths,
    *,
    norm: nn.LayerNorm,
    rate: float,
) -> Steps:
    """relu(steps + dropout(norm(far and near, side by side))); zeros outside.

    Args:
        far: One part of what was found.
        near: The other part.
        steps: What it is added to.
        lengths: Steps of each clip.
        norm: Normalises what was found.
        rate: Share of it that is dropped; 0 when not training.
    """
    compiled = _kernels(steps, far, near)
    if compiled is not None:
        seed = int(torch.randint(2**32, ())) if rate else 0
        dropped = min(max(1, round(256 * rate)), 255) if rate else 0
        chance = np.uint32(seed), np.uint32(dropped)
        out: Tensor = _Finished.apply(  # type: ignore[no-untyped-call]
            far, near, steps, lengths, norm.weight, norm.bias, chance, compiled
        )
        return out
    found = dropout(norm(torch.cat((far, near), dim=-1)), rate, is_training=rate > 0)
    return _kept(torch.relu(steps + found), lengths)


def pooled(steps: Steps, lengths: Lengths) -> Float[Tensor, "batch twice"]:
    """Mean and maximum of each clip's steps; nothing may be negative."""
    compiled = _kernels(steps)
    if compiled is not None:
        both: Tensor = _Pooled.apply(steps, lengths, compiled)  # type: ignore[no-untyped-call]
        return both
    steps = _kept(steps, lengths)
    return torch.cat((steps.sum(dim=1) / lengths[:, None], steps.amax(dim=1)), dim=-1)


class _Shifted(Function):
    @staticmethod
    def forward(
        ctx: Any, steps: Tensor, lengths: Tensor, offsets: tuple[int, ...], compiled: ModuleType
    ) -> Tensor:
        batch, time, dim = steps.shape
        ctx.layout = lengths.numpy(), np.array(offsets)
        ctx.compiled = compiled
        beside = steps.new_empty(batch, time, len(offsets) * dim)
        compiled.gather(_array(steps), *ctx.layout, beside.numpy())
        return beside

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:
        batch, time, wide = slopes.shape
        totals = slopes.new_empty(batch, time, wide // len(ctx.layout[1]))
        ctx.compiled.scatter(_array(slopes), *ctx.layout, totals.numpy())
        return totals, None, None, None


class _Highest(Function):
    @staticmethod
    def forward(ctx: Any, steps: Tensor, lengths: Tensor, compiled: ModuleType) -> Tensor:
        ctx.given = _array(steps), lengths.numpy()
        ctx.compiled = compiled
        found = torch.empty(steps.shape)
        compiled.fill_highest(*ctx.given, found.numpy())
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:
        totals = torch.empty(slopes.shape)
        ctx.compiled.spread_highest(*ctx.given, _array(slopes), totals.numpy())
        return totals, None, None


class _Finished(Function):
    @staticmethod
    def forward(
        ctx: Any,
        far: Tensor,
        near: Tensor,
        steps: Tensor,
        lengths: Tensor,
        gain: Tensor,
        bias: Tensor,
        chance: tuple[np.uint32, np.uint32],
        compiled: ModuleType,
    ) -> Tensor:
        out, normal = torch.empty(steps.shape), torch.empty(steps.shape)
        scales = np.empty(steps.shape[:2], np.float32)
        ctx.kept = out.numpy(), normal.numpy(), scales, lengths.numpy(), _array(gain), *chance
        compiled.finish(
            *map(_array, (far, near, steps)),
            lengths.numpy(),
            *map(_array, (gain, bias)),
            *chance,
            out.numpy(),
            normal.numpy(),
            scales,
        )
        ctx.widths, ctx.compiled = (far.shape[2], near.shape[2]), compiled
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:
        batch, time, dim = slopes.shape
        to_far, to_near = (torch.empty(batch, time, width) for width in ctx.widths)
        to_steps, to_norm = torch.empty(batch, time, dim), torch.empty(2, dim)
        filled = (part.numpy() for part in (to_far, to_near, to_steps, to_norm))
        ctx.compiled.finish_backward(_array(slopes), *ctx.kept, *filled)
        return to_far, to_near, to_steps, None, to_norm[0], to_norm[1], None, None


class _Pooled(Function):
    @staticmethod
    def forward(ctx: Any, steps: Tensor, lengths: Tensor, compiled: ModuleType) -> Tensor:
        batch, _, dim = steps.shape
        places = np.empty((batch, dim), np.int32)
        ctx.layout, ctx.shape, ctx.compiled = (lengths.numpy(), places), steps.shape, compiled
        both = torch.empty(batch, 2 * dim)
        compiled.fill_pooled(_array(steps), lengths.numpy(), both.numpy(), places)
        return both

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor | None, ...]:
        totals = torch.empty(ctx.shape)
        ctx.compiled.spread_pooled(_array(slopes), *ctx.layout, totals.numpy())
        return totals, None, None


def _kernels(*tensors: Tensor) -> ModuleType | None:
    is_single = all(tensor.dtype == torch.float32 for tensor in tensors)
    return kernels("experts.taps_kernels") if is_single and can_compile(*tensors) else None


def _array(tensor: Tensor) -> Float[np.ndarray, "..."]:
    return tensor.detach().contiguous().numpy()


def _kept(steps: Steps, lengths: Lengths) -> Steps:
    """The steps, zeros from each clip's length on."""
    is_outside = torch.arange(steps.shape[1], device=lengths.device) >= lengths[:, None]
    return steps.masked_fill(is_outside[..., None], 0.0)
