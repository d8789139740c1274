"""All that is known about one modality: its sense, its experts, and how far to trust them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmalign.data.clip import Steps
from mmalign.experts.contract import Evidence, Lesson
from mmalign.experts.inputs import Sense
from mmalign.experts.ridge_expert import RidgeExpert, choose_sense
from mmalign.experts.taps_expert import TapsExpert

RIDGE_GAIN = 4.0
"""What brings a ridge's scores, around -1 and 1, to the size of log-probabilities."""


@dataclass(frozen=True)
class ModalityExperts:
    """Two experts that fail on different clips: a ridge on fixed features, and a network.

    Attributes:
        sense: How sequences are centred and scaled, chosen on clips that were left out.
        ridge: The ridge expert.
        taps: The network.
        clips: How many training clips had the modality.
        skill: Share of the labels' variance that the ridge explains on clips left out; 0 to 1.
    """

    sense: Sense
    ridge: RidgeExpert
    taps: TapsExpert
    clips: int
    skill: float

    def evidence(self, clips: Sequence[Steps]) -> Evidence:
        """Log-probabilities and scaled scores added up, or the mean of two numbers."""
        fixed, learned = self.ridge.evidence(clips), self.taps.evidence(clips)
        if fixed.shape[1] == 1:
            return np.asarray((fixed + learned) / 2)
        return np.asarray(learned + RIDGE_GAIN * fixed)


def learn_modality(lesson: Lesson) -> ModalityExperts:
    """Choose a sense, and fit both experts."""
    sense, patterns = choose_sense(lesson)
    ridge, taps = RidgeExpert(patterns), TapsExpert()
    ridge.fit(lesson, sense)
    taps.fit(lesson, sense)
    targets = lesson.targets()
    variance = float(np.mean((targets - targets.mean(axis=0)) ** 2))
    skill = 1.0 - ridge.found.error(targets) / max(variance, 1e-12)
    return ModalityExperts(sense, ridge, taps, len(lesson.clips), min(max(skill, 0.0), 0.999))
