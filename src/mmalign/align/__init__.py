"""Windowed optimal transport between two sequences: band plans, pure tensor maths.

:func:`solve` aligns two sequences; :func:`impute` carries one sequence through a plan;
:func:`fit_loss` compares a predicted plan with a solved one. Plans are bands
``[batch, time, 2 * window + 1]`` whose layout :mod:`mmalign.align.band` documents; time and memory
grow linearly with length. Names are imported when they are first used: kernels need no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmalign.align.band import band_columns, is_inside, to_dense
    from mmalign.align.checks import smallest_window
    from mmalign.align.cost import windowed_cosine_cost
    from mmalign.align.fitting import fit_loss
    from mmalign.align.imputation import impute
    from mmalign.align.plan import BandPlan
    from mmalign.align.softmax import band_softmax, uniform_plan
    from mmalign.align.solver import solve

__all__ = [
    "BandPlan",
    "band_columns",
    "band_softmax",
    "fit_loss",
    "impute",
    "is_inside",
    "smallest_window",
    "solve",
    "to_dense",
    "uniform_plan",
    "windowed_cosine_cost",
]

_HOMES = {
    "BandPlan": "plan",
    "band_columns": "band",
    "band_softmax": "softmax",
    "fit_loss": "fitting",
    "impute": "imputation",
    "is_inside": "band",
    "smallest_window": "checks",
    "solve": "solver",
    "to_dense": "band",
    "uniform_plan": "softmax",
    "windowed_cosine_cost": "cost",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
