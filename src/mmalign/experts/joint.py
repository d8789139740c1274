"""Joint experts: for a label that lies in how modalities relate, and in none of them alone."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mmalign.data.clip import Steps
from mmalign.data.inputs import Sense
from mmalign.experts.contract import Evidence, Lesson
from mmalign.experts.ridge_expert import DETECTORS, FEW, PATTERNS, RidgeExpert
from mmalign.experts.weights import Hearing, helpful, surprise

FEWEST = 50
"""Fewer clips cannot tell whether a joint expert helps."""

CLEAR = 0.1
"""A joint expert must take away this share of what a constant leaves unexplained."""


def candidates(modalities: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every pair, and all of them together."""
    yield from itertools.combinations(modalities, 2)
    if len(modalities) > 2:
        yield tuple(modalities)


def joined(parts: Sequence[Steps]) -> Steps:
    """Sequences side by side on the clock of the longest; each step is the nearest in time."""
    time = max(len(steps) for steps in parts)
    places = [np.arange(time) * len(steps) // time for steps in parts]
    side_by_side = [steps[place] for steps, place in zip(parts, places, strict=True)]
    return np.concatenate(side_by_side, axis=1)


def held_out_by_few(lesson: Lesson) -> Evidence:
    """What a ridge with a quarter of the features says of clips that were left out."""
    expert = RidgeExpert(PATTERNS // FEW, DETECTORS // FEW)
    expert.fit(lesson, Sense(centre=False, own_scale=False, smooth=True))
    return expert.found.held_out


def is_clearly_better(others: Hearing, joint: Evidence) -> bool:
    """Whether a joint expert explains much that the sum of the others leaves unexplained."""
    both = replace(others, held=np.concatenate([others.held, joint[None]]))
    alone, together = (surprise(heard, helpful(heard)) for heard in (others, both))
    nothing = surprise(others, np.zeros(len(others.held)))
    return alone - together > CLEAR * nothing
