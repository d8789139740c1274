"""Compiled kernels: where they are found, what they take, and the solver they make."""

from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from mmalign.align.newton_rule import effort, schedule
from mmalign.align.plan import BandPlan
from mmalign.errors import AlignmentError

DTYPES = (torch.float32, torch.float64)


@cache
def kernels(module: str) -> ModuleType | None:
    """A module of kernels by its name in this package, or None where Numba cannot be imported."""
    try:
        return import_module(f"mmalign.{module}")
    except ImportError:
        return None


def can_compile(first: Tensor, second: Tensor) -> bool:
    """Whether the kernels take these tensors: on the CPU, and both of one float dtype."""
    is_float = first.dtype in DTYPES and second.dtype == first.dtype
    return is_float and first.device.type == second.device.type == "cpu"


def solve_compiled(
    solver: ModuleType,
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
    """Solve a batch with the compiled kernels (:mod:`mmalign.align.kernels`)."""
    batch, time, _ = source.shape
    mass = torch.empty(batch, time, 2 * window + 1, dtype=source.dtype)
    counts = torch.empty(batch, dtype=torch.int64)
    errors = torch.empty(batch, dtype=torch.float64)
    problem = (
        source.detach().contiguous().numpy(),
        target.detach().contiguous().numpy(),
        source_lengths.numpy(),
        target_lengths.numpy(),
    )
    answer = (mass.numpy(), counts.numpy(), errors.numpy())
    if iterations is None:
        settings = (window, np.array(schedule(epsilon)), tolerance, effort())
        is_done = np.zeros(batch, np.bool_)
        order = solver.groupable(*problem[2:], window, epsilon)
        if order.size:
            solver.tolerance_groups(*problem[:3], order, settings, *answer, is_done)
        bad = -1
        if not is_done.all():
            room = working_room(mass, target.shape[1])
            bad = solver.tolerance_batch(*problem, settings, *answer, is_done, room)
    else:
        bad = solver.sinkhorn_batch(*problem, (window, epsilon, iterations), *answer)
    if bad >= 0:
        raise AlignmentError(not_finite("target" if bad % 2 else "source", bad // 2))
    return BandPlan(mass, counts, errors, errors <= tolerance, source_lengths, target_lengths)


def working_room(
    mass: Float[Tensor, "batch time width"], target_time: int
) -> Float[np.ndarray, "clips rows width"]:
    """Room for Newton's factors: the plan's own memory, which is written last, if they fit."""
    if mass.dtype == torch.float64 and mass.shape[1] >= target_time:
        return mass.numpy()
    return np.empty((1, target_time, mass.shape[2]))


def not_finite(side: str, clip: int) -> str:
    """The message for a sequence that holds NaN or infinity."""
    return (
        f"the {side} of clip {clip} holds NaN or infinity; "
        "clean the features, or give the lengths if that is padding"
    )
