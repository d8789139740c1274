"""How clips of one pattern are read: what is there, and who stands in for the rest."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mmalign.model.lines import Flat

Floor = Callable[[Flat, int], Flat]
"""From source steps, and how many are wanted, to steps that stand in."""

MOST_GUESSES = 4096
"""Completed lengths that a pattern remembers: most clips have those of another."""


@dataclass(frozen=True)
class Way:
    """How a missing modality is imputed from one that is there.

    Attributes:
        source: Number of the modality that is there.
        floor: What an imputer that has no fitter says: from source steps and the number of target
            steps to those.
        weights: Those of the fitter, packed; empty where there is none.
        window: Radius of the fitter's band.
        ratio: Target steps per source step.
        preference: What its share is a softmax of.
    """

    source: int
    floor: Floor | None
    weights: Flat
    window: int
    ratio: float
    preference: float


@dataclass(frozen=True)
class Route:
    """What is done for clips of one pattern.

    Attributes:
        there: Numbers of the modalities that are there.
        missing: Those of the others; each with the ways to impute it, and the share of each way.
        guesses: Lengths that were completed before, by those that were given.
    """

    there: list[int]
    missing: dict[int, list[tuple[Way, np.float32]]]
    guesses: dict[tuple[int, ...], list[int]] = field(default_factory=dict)

    def completed(self, present: list[int]) -> list[int]:
        """Lengths of what is there, and of what is taken to be missing (`ImputerBank.lengths`)."""
        known = self.guesses.get(tuple(present))
        if known is not None:
            return known
        full = list(present)
        for number, ways in self.missing.items():
            said = [present[way.source] * way.ratio for way, _ in ways]
            said = said or [float(present[other]) for other in self.there]
            full[number] = max(1, round(sum(said) / len(said)))
        if len(self.guesses) < MOST_GUESSES:
            self.guesses[tuple(present)] = full
        return full


def shared(ways: list[Way]) -> list[tuple[Way, np.float32]]:
    """Each way with its share: a softmax of the preferences."""
    best = max((way.preference for way in ways), default=0.0)
    liked = [math.exp(way.preference - best) for way in ways]
    shares = [np.float32(one / sum(liked)) for one in liked]
    return list(zip(ways, shares, strict=True))
