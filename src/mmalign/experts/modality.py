"""All that is known about one modality: its sense, its experts, and what they say when tested."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mmalign.data.clip import Steps
from mmalign.data.inputs import Sense, is_smooth
from mmalign.experts.contract import Evidence, Lesson
from mmalign.experts.gaps import without_gaps
from mmalign.experts.ridge_expert import RidgeExpert, choose_sense
from mmalign.experts.taps_expert import TapsExpert

NETWORK_GAIN = 0.25
"""What brings log-probabilities to the size of a ridge's scores, around -1 and 1."""

AGREEMENT = 0.65
"""Two experts of one modality tell less than twice as much as one of them."""

MOST = 0.5
"""Share of the network in the mean of two numbers, where nothing speaks against it."""


@dataclass(frozen=True)
class ModalityExperts:
    """Two experts that fail on different clips: a ridge on fixed features, and a network.

    Attributes:
        sense: How sequences are centred and scaled, chosen on clips that were left out.
        ridge: The ridge expert.
        taps: The network.
        held_out: What the ridge says of each training clip when it, or its group, is left out.
        skill: Share of the labels' variance that the ridge explains on clips left out; 0 to 1.
        share: Share of the network in the mean of two numbers; see `network_share`.
    """

    sense: Sense
    ridge: RidgeExpert
    taps: TapsExpert
    held_out: Evidence
    skill: float
    share: float = MOST

    @property
    def clips(self) -> int:
        """How many training clips had the modality."""
        return len(self.held_out)

    def evidence(self, clips: Sequence[Steps]) -> Evidence:
        """Scores and log-probabilities added up, or the weighted mean of two numbers."""
        whole = [without_gaps(steps, smooth=self.sense.smooth) for steps in clips]
        fixed, learned = self.ridge.evidence(whole), self.taps.evidence(whole)
        if fixed.shape[1] == 1:
            return np.asarray((1 - self.share) * fixed + self.share * learned)
        return np.asarray(AGREEMENT * (fixed + NETWORK_GAIN * learned))

    def read(self, clips: Sequence[Steps]) -> list[Steps]:
        """The sequences without gaps, centred and scaled as the sense says."""
        return self.ridge.inputs[0]([without_gaps(s, smooth=self.sense.smooth) for s in clips])


def learn_modality(lesson: Lesson) -> ModalityExperts:
    """Choose a sense, and fit both experts."""
    smooth = is_smooth([without_gaps(steps, smooth=False) for steps in lesson.clips])
    whole = [without_gaps(steps, smooth=smooth) for steps in lesson.clips]
    lesson = replace(lesson, clips=whole)
    sense, patterns = choose_sense(lesson, smooth=smooth)
    ridge, taps = RidgeExpert(patterns), TapsExpert()
    ridge.fit(lesson, sense)
    taps.fit(lesson, sense)
    targets = lesson.targets()
    variance = float(np.mean((targets - targets.mean(axis=0)) ** 2))
    error = ridge.found.error(targets)
    skill = min(max(1.0 - error / max(variance, 1e-12), 0.0), 0.999)
    share = MOST
    if lesson.outputs == 1:
        share = network_share(error, float(np.mean((taps.evidence(whole) - targets) ** 2)))
    return ModalityExperts(sense, ridge, taps, ridge.found.held_out, skill, share)


def network_share(ridge_error: float, network_error: float) -> float:
    """How much the network counts in the mean of two numbers.

    Each counts as the other errs, which is best if they err independently. But the network's
    squared error is that on clips that it learned from, where it errs too little: so it gets no
    more than half, and less only where it has not even learned those as well as the ridge tells
    clips that were left out. (A class needs no such rule: a network that learned little is unsure.)

    >>> network_share(1.0, 0.2), network_share(1.0, 3.0)
    (0.5, 0.25)
    """
    total = ridge_error + network_error
    return min(MOST, ridge_error / total) if total else MOST
