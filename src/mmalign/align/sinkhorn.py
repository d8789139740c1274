"""Sinkhorn's iterations on a band, in the log domain, on any device."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mmalign.align.plan import BandPlan


def solve_on_device(
    cost: Float[Tensor, "batch time width"],
    place: Int[Tensor, "batch time width"],
    source_lengths: Int[Tensor, " batch"],
    target_lengths: Int[Tensor, " batch"],
    *,
    epsilon: float,
    tolerance: float,
    iterations: int | None,
) -> BandPlan:
    """Solve."""
    dtype = cost.dtype
    n, m = source_lengths, target_lengths
    tolerance = max(tolerance, 4 * torch.finfo(dtype).eps)
    batch, time, width = cost.shape
    cols = int(m.max()) + 1
    outside = place < 0
    index = place.masked_fill(outside, cols - 1).view(batch, -1)
    score = (-cost.double() / epsilon).masked_fill(outside, -torch.inf)
    column_target = (n.double() / m).log()[:, None]
    is_row = torch.arange(time, device=cost.device) < n[:, None]
    v = score.new_zeros(batch, cols)
    limit = 10000 if iterations is None else iterations
    counts = torch.zeros_like(n)
    active = torch.ones_like(n, dtype=torch.bool)

    def spread(columns: Tensor) -> Tensor:
        return columns.gather(1, index).view(batch, time, width)

    u = score.new_zeros(batch, time)
    error = score.new_full((batch,), torch.inf)
    for step in range(limit + 1):
        new_u = -torch.logsumexp(score + spread(v), -1).masked_fill(~is_row, 0.0)
        if step:
            error = torch.where(active, ((u - new_u).expm1().abs() * is_row).amax(-1), error)
            if iterations is None:
                active = active & (error > tolerance)
        if step == limit or not active.any():
            break
        u = torch.where(active[:, None], new_u, u)
        s = score + u[..., None]
        top = score.new_full((batch, cols), -torch.inf).scatter_reduce(
            1, index, s.view(batch, -1), "amax"
        )
        top = top.masked_fill(top == -torch.inf, 0.0)
        total = torch.zeros_like(top).scatter_add(1, index, (s - spread(top)).exp().view(batch, -1))
        new_v = column_target - top - total.log()
        new_v[:, cols - 1] = 0.0
        new_v = new_v.masked_fill(new_v.isinf(), 0.0)
        v = torch.where(active[:, None], new_v, v)
        counts = counts + active
    mass = (score + u[..., None] + spread(v)).exp().to(dtype)
    return BandPlan(mass, counts, error.to(dtype), error <= tolerance, n, m)
