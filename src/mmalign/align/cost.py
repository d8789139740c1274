"""The cost of moving one step to another, inside the band only."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mmalign.align.band import band_columns
from mmalign.align.checks import check_lengths


def windowed_cosine_cost(
    source: Float[Tensor, "batch time dim"],
    target: Float[Tensor, "batch target_time dim"],
    *,
    window: int = 8,
    source_lengths: Int[Tensor, " batch"] | None = None,
    target_lengths: Int[Tensor, " batch"] | None = None,
) -> Float[Tensor, "batch time width"]:
    """Cost ``1 - cos(source_i, target_j)`` of every entry of the band, 0 outside.

    Paper: Eq. eq:ot_cost_func. Steps outside the window have no entry at all, which is the
    barrier's infinity made exact (design E8). A zero vector has no direction: its cost is 1.
    Works through the diagonals of the band, so that no time x time matrix is ever formed.

    >>> steps = torch.eye(3)[None]
    >>> windowed_cosine_cost(steps, steps, window=1)[0].tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    shape = (source.shape[0], source.shape[1])
    rows, columns = check_lengths(
        source_lengths, target_lengths, shape=shape, like=source, target_time=target.shape[1]
    )
    place = band_columns(rows, columns, window=window, time=source.shape[1])
    unit_source = unit_steps(source, rows)
    unit_target = unit_steps(target, columns)
    batch = torch.arange(shape[0], device=source.device)[:, None]
    entries = place.clamp(min=0).unbind(-1)
    diagonals = [(unit_source * unit_target[batch, entry]).sum(-1) for entry in entries]
    return (1.0 - torch.stack(diagonals, dim=-1)).masked_fill_(place < 0, 0.0)


def unit_steps(
    sequence: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch time dim"]:
    """Every step scaled to length 1; zero vectors and padding, whatever it holds, become 0."""
    is_padding = torch.arange(sequence.shape[1], device=sequence.device) >= lengths[:, None]
    steps = sequence.masked_fill(is_padding[..., None], 0.0)
    # The largest entry goes first, so that squares can neither overflow nor vanish.
    steps = steps / _one_if_zero(steps.abs().amax(-1, keepdim=True))
    return steps / _one_if_zero(torch.linalg.vector_norm(steps, dim=-1, keepdim=True))


def _one_if_zero(size: Tensor) -> Tensor:
    return torch.where(size > 0, size, torch.ones_like(size))
