"""Newton's method on the dual in torch operations.

:mod:`mmalign.align.kernels.newton` explains it; :mod:`mmalign.align.newton_rule` says when it ends.
"""

from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from mmalign.align.newton_rule import (
    ANNEAL_UNTIL,
    LONGEST,
    effort,
    is_long_enough,
    is_lost_in_rounding,
    schedule,
)
from mmalign.align.scored_band import ScoredBand

RIDGE = 1e-13  # lifts the null space (a constant per connected block) above rounding

Plan = Float[Tensor, "batch time width"]


def annealed_newton(
    band: ScoredBand, *, epsilon: float, tolerance: float
) -> tuple[Plan, Int[Tensor, " batch"]]:
    """Sinkhorn's warm-up, then Newton; small epsilons are reached by halving larger ones."""
    sweeps, steps, halvings = effort()
    epsilons = schedule(epsilon)
    potentials = _warm_up(band.softened(epsilon / epsilons[0]), sweeps)
    counts = torch.full(band.is_row.shape[:1], sweeps, device=potentials.device)
    for before, current in pairwise((epsilons[0], *epsilons)):
        potentials = potentials * (before / current)
        scores = band.softened(epsilon / current).scores + band.spread(potentials)
        plan = scores.softmax(-1).masked_fill_(~band.is_row[..., None], 0.0)
        goal = tolerance if current == epsilon else ANNEAL_UNTIL
        plan, potentials, taken = newton(
            band, plan, potentials, tolerance=goal, steps=steps, halvings=halvings
        )
        counts = counts + taken
    return plan, counts


def _warm_up(band: ScoredBand, sweeps: int) -> Float[Tensor, "batch places"]:
    columns = band.column_target.new_zeros(band.is_column.shape)
    for _ in range(sweeps):
        columns = band.column_potentials(band.row_potentials(columns))
    return columns


def newton(
    band: ScoredBand,
    plan: Plan,
    potentials: Float[Tensor, "batch places"],
    *,
    tolerance: float,
    steps: int,
    halvings: int,
) -> tuple[Plan, Float[Tensor, "batch places"], Int[Tensor, " batch"]]:
    """Scales plans whose rows sum to 1 until their columns sum to n/m; each clip on its own."""
    taken = torch.zeros(plan.shape[0], dtype=torch.int64, device=plan.device)
    is_stuck = torch.zeros_like(taken, dtype=torch.bool)
    for _ in range(steps):
        sums = band.column_sums(plan)
        error = _column_error(band, sums)
        is_active = (error > tolerance) & ~is_stuck
        if not is_active.any():
            break
        missing = (band.column_target - sums).masked_fill(~band.is_column, 0.0)
        step = solve_blocks(_hessian(band, plan, sums), missing, half_width=plan.shape[2] - 1)
        slope = -(missing * step).sum(-1)
        step, found = _search(band, plan, step, slope, error, is_active, halvings)
        is_stuck = is_stuck | (is_active & ~found)
        potentials = potentials + step
        plan = _scaled(band, plan, step, found)
        taken = taken + found
    return plan, potentials, taken


def _scaled(band: ScoredBand, plan: Plan, step: Tensor, is_active: Tensor) -> Plan:
    heavier = plan * band.spread(step.exp())
    heavier = heavier / heavier.sum(-1, keepdim=True).masked_fill(~band.is_row[..., None], 1.0)
    return torch.where(is_active[:, None, None], heavier, plan)


def _column_error(band: ScoredBand, sums: Tensor) -> Tensor:
    error = (sums / band.column_target - 1.0).masked_fill(~band.is_column, 0.0)
    return error.abs().amax(-1)


def _search(
    band: ScoredBand,
    plan: Plan,
    step: Tensor,
    slope: Tensor,
    error: Tensor,
    is_active: Tensor,
    halvings: int,
) -> tuple[Tensor, Tensor]:
    """Halves the step of each clip until the dual falls enough or, close by, the error halves.

    Returns the steps, 0 where a clip has found none or is not active, and which clips have.
    """
    share = LONGEST / step.abs().amax(-1).clamp(min=LONGEST)
    found, is_lost = ~is_active, torch.zeros_like(is_active)
    for _ in range(halvings):
        trial = share[:, None] * step
        reached = (plan * band.spread(trial.exp())).sum(-1).masked_fill(~band.is_row, 1.0)
        change = reached.log().sum(-1) - (band.column_target * trial).sum(-1)
        everyone = torch.ones_like(is_active)
        sums = band.column_sums(_scaled(band, plan, trial, everyone))
        least = _column_error(band, sums)
        fits: Tensor = is_long_enough(change, share, slope, error, least) & ~found
        is_lost = is_lost | (fits & is_lost_in_rounding(error, least))
        found = found | fits
        if found.all():
            break
        share = torch.where(found, share, 0.5 * share)
    found = found & ~is_lost & is_active
    share = share.masked_fill(~found, 0.0)
    return share[:, None] * step, found


def _hessian(band: ScoredBand, plan: Plan, sums: Tensor) -> Float[Tensor, "batch places width"]:
    """Entry (j, d) is that of columns j and j + d in diag(column sums) - plan^T plan."""
    batch, time, width = plan.shape
    diagonals = []
    for d in range(width):
        products = plan.new_zeros(batch, time, width)
        products[..., : width - d] = plan[..., : width - d] * plan[..., d:]
        diagonals.append(-band.column_sums(products))
    hessian = torch.stack(diagonals, dim=-1)
    # Padding, where all of these are 0, gets a 1 on the diagonal: its step is exactly 0.
    own = torch.where(band.is_column, sums + RIDGE * band.column_target, torch.ones_like(sums))
    hessian[..., 0] += own
    return hessian


def solve_blocks(
    matrix: Float[Tensor, "batch places width"],
    vector: Float[Tensor, "batch places"],
    *,
    half_width: int,
) -> Float[Tensor, "batch places"]:
    """Solves symmetric banded systems as block tridiagonal ones, blocks as wide as the band."""
    batch, places, width = matrix.shape
    spare = -places % half_width
    padded = pad(matrix, (0, 0, 0, spare))
    padded[:, places:, 0] = 1.0
    band = padded.view(batch, -1, half_width, width)
    blocks = band.shape[1]
    parts = pad(vector, (0, spare)).view(batch, blocks, half_width, 1)
    own, shared = _blocks_of(band)
    factors: list[Tensor] = []
    links: list[Tensor] = []
    answers: list[Tensor] = []
    for t in range(blocks):
        square, part = own[:, t], parts[:, t]
        if t:
            square = square - links[-1].mT @ links[-1]
            part = part - links[-1].mT @ answers[-1]
        factors.append(torch.linalg.cholesky_ex(square).L)
        links.append(torch.linalg.solve_triangular(factors[-1], shared[:, t], upper=False))
        answers.append(torch.linalg.solve_triangular(factors[-1], part, upper=False))
    for t in reversed(range(blocks)):
        part = answers[t] if t == blocks - 1 else answers[t] - links[t] @ answers[t + 1]
        answers[t] = torch.linalg.solve_triangular(factors[t].mT, part, upper=True)
    return torch.cat(answers, dim=1)[:, :places, 0]


def _blocks_of(band: Tensor) -> tuple[Tensor, Tensor]:
    """Diagonal blocks, and the blocks right of them, of a symmetric banded matrix."""
    size = band.shape[2]
    offset = torch.arange(size, device=band.device)
    gap = offset - offset[:, None]
    batch, blocks = band.shape[:2]
    own = band.gather(3, gap.abs().expand(batch, blocks, size, size))
    own = own.triu() + own.triu(1).mT
    shared = band.gather(3, (gap + size).clamp(max=size).expand(batch, blocks, size, size))
    return own, shared.tril()
