"""The front door: sequences in, plan and evidence out."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from mmalign.align.band import band_columns, smallest_window
from mmalign.align.checks import check_epsilon, check_lengths, check_window
from mmalign.align.cost import windowed_cosine_cost
from mmalign.align.plan import BandPlan
from mmalign.align.sinkhorn import solve_on_device
from mmalign.errors import AlignmentError

Steps = Float[Tensor, "*batch time dim"] | Float[np.ndarray, "*batch time dim"]
Lengths = Int[Tensor, "*batch"] | Int[np.ndarray, "*batch"] | Sequence[int] | int


@torch.no_grad()
def solve(
    source: Steps,
    target: Steps,
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
        target_lengths: steps of each target; None means all.

    Raises:
        AlignmentError: the problem has no answer: bad shapes, lengths, numbers, or a window too
            small for the lengths.

    >>> steps = torch.eye(4)
    >>> plan = solve(steps, steps, window=1, epsilon=0.2)
    >>> bool(plan.converged), plan.mass.argmax(-1).tolist()
    (True, [1, 1, 1, 1])
    """
    check_window(window)
    check_epsilon(epsilon)
    first, second = _as_batch("source", source), _as_batch("target", target)
    _check_pair(first, second)
    shape, victim_time = (first.shape[0], first.shape[1]), second.shape[1]
    rows, columns = check_lengths(
        _as_lengths(source_lengths, first),
        _as_lengths(target_lengths, second),
        shape=shape,
        like=first,
        victim_time=victim_time,
    )
    _check_feasible(rows, columns, window)
    _check_finite("source", first, rows)
    _check_finite("target", second, columns)
    place = band_columns(rows, columns, window=window, time=first.shape[1])
    cost = windowed_cosine_cost(
        first, second, window=window, source_lengths=rows, target_lengths=columns
    )
    plan = solve_on_device(
        cost, place, rows, columns, epsilon=epsilon, tolerance=tolerance, iterations=iterations
    )
    return plan if source.ndim == 3 else BandPlan(*(field[0] for field in plan))


def _as_batch(side: str, steps: Steps) -> Tensor:
    tensor = torch.from_numpy(steps) if isinstance(steps, np.ndarray) else steps
    if tensor.ndim not in (2, 3) or not tensor.is_floating_point():
        raise AlignmentError(
            f"{side} must be floats of shape [time, dim] or [batch, time, dim], "
            f"got {tensor.dtype} of shape {tuple(tensor.shape)}"
        )
    tensor = tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()
    return tensor if tensor.ndim == 3 else tensor[None]


def _as_lengths(lengths: Lengths | None, like: Tensor) -> Tensor | None:
    if lengths is None:
        return None
    return torch.as_tensor(lengths, dtype=torch.int64, device=like.device).reshape(-1)


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


def _check_feasible(rows: Tensor, columns: Tensor, window: int) -> None:
    if rows is columns:
        return
    reach = rows + columns - 2 * torch.gcd(rows, columns)
    too_far = reach > 2 * rows * window
    if too_far.any():
        clip = int(too_far.nonzero()[0])
        n, m = int(rows[clip]), int(columns[clip])
        raise AlignmentError(
            f"clip {clip} aligns {n} steps with {m}, which window {window} cannot reach; "
            f"the smallest window that works is {smallest_window(n, m)}"
        )


def _check_finite(side: str, steps: Tensor, lengths: Tensor) -> None:
    is_step = torch.arange(steps.shape[1], device=steps.device) < lengths[:, None]
    is_bad = ~steps.isfinite().all(-1) & is_step
    if is_bad.any():
        clip, step = is_bad.nonzero()[0].tolist()
        raise AlignmentError(
            f"{side} of clip {clip} is not finite at step {step}; "
            "clean the features, or give the lengths if that is padding"
        )
