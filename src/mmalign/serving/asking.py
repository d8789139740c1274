"""A clip as a request brings it, checked against the model once, at the edge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32

from mmalign.data.clip import Steps
from mmalign.serving.facts import Facts
from mmalign.serving.limits import Limits
from mmalign.serving.refusal import over_limit, unfit

MAX_ID = 200

PlainAnswer = dict[str, Any]
"""An answer as it is written; `mmalign.serving.schema.Answer` describes it."""


@dataclass(frozen=True)
class Asked:
    """One clip to answer for.

    Attributes:
        id: The client's name for it.
        sequences: What is there; gaps are rows of NaN.
        wants_plans: Whether the plans are asked for.
    """

    id: str
    sequences: Mapping[str, Steps]
    wants_plans: bool = False


def checked_sequence(
    steps: Float32[np.ndarray, "..."], place: str, dim: int, limits: Limits
) -> Steps | None:
    """The sequence, or None if it is a gap from end to end.

    Raises:
        RefusalError: If it is no `[time, dim]` of finite numbers and whole rows of NaN.
    """
    if steps.ndim != 2 or steps.shape[1] != dim or len(steps) == 0:
        raise unfit(f"{place}: expected [time, {dim}] with at least one step.")
    if len(steps) > limits.max_steps:
        raise over_limit(limits, "max_steps", f"{place}: {len(steps)} steps")
    if np.isfinite(steps).all():
        return steps
    is_gap = np.isnan(steps).all(axis=1)
    rest = np.isfinite(steps).all(axis=1) | is_gap
    if not rest.all():
        row = int(rest.argmin())
        raise unfit(f"{place}, step {row}: not finite. A gap is a whole step of NaN, or null.")
    return None if is_gap.all() else steps


def checked_clip(clip: Asked, place: str, facts: Facts, limits: Limits) -> Asked:
    """The clip, if the model can answer for it.

    Raises:
        RefusalError: If nothing is there, or not what the model needs, or it is too long for plans.
    """
    if not clip.sequences:
        raise unfit(
            f"{place}: the clip has no modality. Give at least one of {', '.join(facts.dims)}."
        )
    for name in facts.needs:
        if name not in clip.sequences:
            raise unfit(f"{place}: this model needs {name}.")
    longest = max(len(steps) for steps in clip.sequences.values())
    if clip.wants_plans and longest > limits.max_plan_steps:
        raise over_limit(limits, "max_plan_steps", f"{place}: {longest} steps with plans")
    return clip


def checked_ids(ids: Sequence[str]) -> None:
    """Check that answers can be told apart.

    Raises:
        RefusalError: If two clips have the same id.
    """
    if len(set(ids)) < len(ids):
        raise unfit("Two clips have the same id. Leave ids out, or make them differ.")
