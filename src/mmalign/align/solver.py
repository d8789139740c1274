"""The front door: sequences in, plan and evidence out."""

from functools import partial

import torch
from torch import Tensor

from mmalign.align.checks import (
    check_effort,
    check_epsilon,
    check_lengths,
    check_reach,
    check_window,
    smallest_tolerance,
)
from mmalign.align.compiled import can_compile, kernels, solve_compiled
from mmalign.align.inputs import Lengths, Source, Target, as_batch, as_lengths
from mmalign.align.plan import BandPlan
from mmalign.align.portable import solve_portable
from mmalign.errors import AlignmentError


@torch.no_grad()
def solve(
    source: Source,
    target: Target,
    *,
    window: int = 8,
    epsilon: float = 0.1,
    tolerance: float = 1e-6,
    iterations: int | None = None,
    source_lengths: Lengths | None = None,
    target_lengths: Lengths | None = None,
) -> BandPlan:
    """The windowed optimal transport plan between sequences, with evidence of convergence.

    For a source of ``n`` steps and a target of ``m`` steps it solves

        minimise    sum_ij A_ij M_ij + epsilon sum_ij A_ij (log A_ij - 1)
        subject to  sum_j A_ij = 1,   sum_i A_ij = n / m,   A_ij >= 0,
                    A_ij = 0 outside the band,   M_ij = 1 - cos(source_i, target_j)

    Paper: Eq. eq:goal, eq:ot_cost_func, eq:entropy_form, eq:skh_step1, eq:skh_step2; differs:
    design E1, E2, E4, E8, E9, E13.

    Without ``iterations`` it sweeps (Sinkhorn first, then Newton on the dual, whose Hessian is
    banded) until the marginals are within ``tolerance``. Each clip stops on its own: batch-mates
    and padding never change its answer. Nothing is differentiated through: the plan is a constant.

    Args:
        source: ``[time, dim]`` or ``[batch, time, dim]``; padding may hold anything.
        target: the other sequences, of the same dim; lengths may differ from the source's.
        window: radius of the band.
        epsilon: entropic regularisation; small is sharp, large is uniform.
        tolerance: what ``converged`` means; clamped to what the dtype can hold.
        iterations: do exactly so many Sinkhorn iterations instead, rows first, as the paper does.
        source_lengths: steps of each source; None means all.
        target_lengths: steps of each target; None means as many as the source where both are padded
            to one time, and all otherwise.

    Raises:
        AlignmentError: the problem has no answer: bad shapes, lengths, numbers, or a window too
            small for the lengths.

    >>> steps = torch.eye(4)
    >>> plan = solve(steps, steps, window=1, epsilon=0.2)
    >>> bool(plan.converged), plan.mass.argmax(-1).tolist()
    (True, [1, 1, 1, 1])
    """
    epsilon = check_epsilon(epsilon)
    tolerance, iterations = check_effort(tolerance, iterations)
    first, second = as_batch("source", source), as_batch("target", target)
    _check_pair(first, second)
    window = check_window(window, max(first.shape[1], second.shape[1]))
    if target_lengths is None and first.shape[1] != second.shape[1]:
        target_lengths = [second.shape[1]] * second.shape[0]
    rows, columns = check_lengths(
        as_lengths("source", source_lengths, first),
        None if target_lengths is source_lengths else as_lengths("target", target_lengths, second),
        shape=(first.shape[0], first.shape[1]),
        like=first,
        target_time=second.shape[1],
    )
    check_reach(rows, columns, window)
    tolerance = max(tolerance, smallest_tolerance(first.dtype))
    solver = kernels("align.kernels.solve") if can_compile(first, second) else None
    run = solve_portable if solver is None else partial(solve_compiled, solver)
    plan = run(
        first,
        second,
        rows,
        columns,
        window=window,
        epsilon=epsilon,
        tolerance=tolerance,
        iterations=iterations,
    )
    return plan if source.ndim == 3 else BandPlan(*(field[0] for field in plan))


def _check_pair(source: Tensor, target: Tensor) -> None:
    if source.shape[0] != target.shape[0] or source.shape[2] != target.shape[2]:
        raise AlignmentError(
            "source and target must have the same batch and dim, "
            f"got {tuple(source.shape)} and {tuple(target.shape)} (batch, time, dim); "
            "project both sequences to one dim before aligning them"
        )
    if 0 in source.shape or target.shape[1] == 0:
        raise AlignmentError(
            f"nothing to align: got {tuple(source.shape)} and {tuple(target.shape)} "
            "(batch, time, dim). Drop empty sequences before batching."
        )
