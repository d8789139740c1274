"""The solver in torch operations, for every device and without Numba.

The same mathematics as :mod:`mmalign.align.kernels`, a whole batch at a time in the log domain;
clips that have converged are frozen, so that batch-mates do not change their answer.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mmalign.align.compiled import not_finite
from mmalign.align.cost import windowed_cosine_cost
from mmalign.align.plan import BandPlan
from mmalign.align.portable_newton import annealed_newton
from mmalign.align.scored_band import ScoredBand
from mmalign.errors import AlignmentError


def solve_portable(
    source: Float[Tensor, "batch time dim"],
    target: Float[Tensor, "batch target_time dim"],
    source_lengths: Int[Tensor, " batch"],
    target_lengths: Int[Tensor, " batch"],
    *,
    window: int,
    epsilon: float,
    tolerance: float,
    iterations: int | None,
) -> BandPlan:
    """Solve a batch in torch operations.

    Raises:
        AlignmentError: a sequence holds NaN or infinity.
    """
    cost = windowed_cosine_cost(
        source,
        target,
        window=window,
        source_lengths=source_lengths,
        target_lengths=target_lengths,
    )
    _check_finite(cost, source, source_lengths)
    band = ScoredBand.build(cost, source_lengths, target_lengths, epsilon=epsilon)
    if iterations is None:
        plan, counts = annealed_newton(band, epsilon=epsilon, tolerance=tolerance)
    else:
        plan = sinkhorn(band, iterations=iterations)
        counts = torch.full_like(source_lengths, iterations)
    mass = plan.to(source.dtype)
    errors = band.marginal_error(mass.to(plan.dtype))
    return BandPlan(mass, counts, errors, errors <= tolerance, source_lengths, target_lengths)


def sinkhorn(band: ScoredBand, *, iterations: int) -> Float[Tensor, "batch time width"]:
    """The plan after so many iterations, rows first (Eq. eq:skh_step1, eq:skh_step2)."""
    columns = band.column_target.new_zeros(band.is_column.shape)
    for _ in range(iterations):
        rows = band.row_potentials(columns)
        columns = band.column_potentials(rows)
    return (band.scores + rows[..., None] + band.spread(columns)).exp()


def _check_finite(cost: Tensor, source: Tensor, lengths: Tensor) -> None:
    is_bad = ~cost.isfinite().flatten(1).all(1)
    if is_bad.any():
        clip = int(is_bad.nonzero()[0])
        is_source = not source[clip, : int(lengths[clip])].isfinite().all()
        raise AlignmentError(not_finite("source" if is_source else "target", clip))
