"""What plans look like: on average over many clips, and for one clip word by word."""

from typing import Any

import numpy as np

from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.errors import DataError
from mmalign.predictor.plans import Plan, dense_plans
from mmalign.predictor.predictor import Predictor
from mmalign.training.config import Config

SHORTEST = 20
"""The paper averages plans of clips with at least so many steps."""

FAINTEST = 0.005
"""Mass below this is no line in a case study."""


def mean_plans(predictor: Predictor, config: Config, clips: Split) -> dict[str, Any]:
    """Mean absolute mass of solved and predicted plans at the first steps of long enough clips.

    The paper's figure of average entries: outside the window there must be none.

    Raises:
        DataError: If no clip has its victim.
    """
    lengths = clips.lengths(predictor.visible)
    is_complete = clips.is_present(predictor.victim)
    if not is_complete.any():
        raise DataError(
            "no clip has its victim", modality=predictor.victim, fix="Give clips that have both."
        )
    steps = min(SHORTEST, int(lengths[is_complete].max()))
    chosen = clips.select(np.flatnonzero(is_complete & (lengths >= steps)))
    solved, guessed = _plans(predictor, chosen)
    return {
        "clips": len(chosen),
        "steps": steps,
        "window": config.window,
        "solver": _mean_corner(solved, steps).tolist(),
        "fitter": _mean_corner(guessed, steps).tolist(),
    }


def _mean_corner(plans: list[Plan], steps: int) -> Plan:
    """Mean over the plans' first rows, and over as many columns as last the same time."""
    pace = np.mean([plan.shape[1] / plan.shape[0] for plan in plans])
    columns = min(round(steps * pace), *(plan.shape[1] for plan in plans))
    mean: Plan = np.mean([np.abs(plan[:steps, :columns]) for plan in plans], axis=0)
    return mean


def take_apart(predictor: Predictor, dataset: Dataset, clip_id: str) -> dict[str, Any]:
    """Words, times and plan lines of one clip of the test split.

    Raises:
        DataError: If there is no such clip, or it lacks the victim.
    """
    test = dataset["test"]
    if clip_id not in test.ids:
        raise DataError("there is no such clip", split="test", clip=clip_id, fix="Name another.")
    found = test.select([test.ids.index(clip_id)])
    if not found.is_present(predictor.victim)[0]:
        raise DataError("the clip has no victim to line up with", clip=clip_id, fix="Name another.")
    solved, guessed = _plans(predictor, found)
    clip = found[0]
    return {
        "clip": clip_id,
        "words": None if clip.words is None else list(clip.words),
        "times": None if clip.times is None else np.asarray(clip.times).tolist(),
        "visible_steps": int(found.lengths(predictor.visible)[0]),
        "victim_steps": int(found.lengths(predictor.victim)[0]),
        "solver": _lines(solved[0]),
        "fitter": _lines(guessed[0]),
    }


def _plans(predictor: Predictor, clips: Split) -> tuple[list[Plan], list[Plan]]:
    """The solver's and the fitter's plan of every clip."""
    blind = clips.without(predictor.victim, clips.ids)
    return dense_plans(predictor, clips), dense_plans(predictor, blind)


def _lines(plan: Plan) -> list[list[float]]:
    """Visible step, victim step and mass of what can be seen."""
    rows, columns = np.nonzero(plan > FAINTEST)
    masses = plan[rows, columns]
    return [[int(i), int(j), float(m)] for i, j, m in zip(rows, columns, masses, strict=True)]


def choose_clip(clips: Split, visible: str, victim: str) -> str:
    """A clip to show: complete, with words if any has them, of a readable length.

    Raises:
        DataError: If no clip is complete.
    """
    candidates = np.flatnonzero(clips.is_present(victim) & clips.is_present(visible))
    if len(candidates) == 0:
        raise DataError(
            "no clip has its victim", split="test", modality=victim, fix="Choose another pair."
        )
    lengths = clips.lengths(visible)
    has_words = [
        clips.words is not None and clips.words[int(row)] is not None for row in candidates
    ]
    distance = np.abs(lengths[candidates] - SHORTEST)
    best = np.lexsort((candidates, distance, ~np.array(has_words)))[0]
    return clips.ids[int(candidates[best])]
