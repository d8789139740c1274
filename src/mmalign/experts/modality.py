"""All that is known about one modality: its sense, its experts, and what they say when tested."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Shaped

from mmalign.data.clip import Steps
from mmalign.data.inputs import Sense, is_smooth
from mmalign.experts.contract import Evidence, Lesson
from mmalign.experts.gaps import all_without_gaps, without_gaps
from mmalign.experts.ridge_expert import RidgeExpert, choose_sense, is_wrong
from mmalign.experts.taps_expert import TapsExpert

NETWORK_GAIN = 0.25
"""What brings log-probabilities to the size of a ridge's scores, around -1 and 1."""

AGREEMENT = 0.65
"""Two experts of one modality tell less than twice as much as one of them."""

HALF = 0.5
"""Share of the network beside the ridge where nothing is known."""

HOPELESS = 2.0
"""A network does not count if it is wrong of so many times more clips than the ridge, or more."""

PARTS = 4
"""One of so many parts of the clips rehearses."""

MOST_CLIPS, MOST_STEPS = 32, 65_536
"""Of clips that are answered together, whose features then stay in the processor's caches."""


@dataclass(frozen=True)
class ModalityExperts:
    """Two experts that fail on different clips: a ridge on fixed features, and a network.

    Attributes:
        sense: How sequences are centred and scaled, chosen on clips that were left out.
        ridge: The ridge expert.
        taps: The network.
        held_out: What the ridge says of each training clip when it, or its group, is left out.
        skill: Share of the labels' variance that the ridge explains on clips left out; 0 to 1.
        share: Share of the network beside the ridge; see `rehearsed_share` and `class_share`.
    """

    sense: Sense
    ridge: RidgeExpert
    taps: TapsExpert
    held_out: Evidence
    skill: float
    share: float = HALF

    @property
    def prior(self) -> Float64[np.ndarray, " classes"]:
        """Evidence of a clip of which nothing is known, from how often each class was taught."""
        taught = self.ridge.ridge.intercept  # the mean of 1 for a clip's class, -1 for others
        shares = class_shares((taught + 1) / 2 * self.clips)
        mean = (1 - self.share) * taught + self.share * (NETWORK_GAIN * np.log(shares))
        return np.asarray(2 * AGREEMENT * mean)

    @property
    def clips(self) -> int:
        """How many training clips had the modality."""
        return len(self.held_out)

    def evidence(self, clips: Sequence[Steps]) -> Evidence:
        """The weighted sum of scores and log-probabilities, or the weighted mean of two numbers."""
        found = np.empty((len(clips), self.taps.outputs))
        for rows in batches_by_length([len(steps) for steps in clips]):
            found[rows] = self._evidence([clips[row] for row in rows])
        return found

    def _evidence(self, clips: Sequence[Steps]) -> Evidence:
        whole = all_without_gaps(clips, smooth=self.sense.smooth)
        fixed, learned = self.ridge.evidence(whole), self.taps.evidence(whole)
        gain = 1.0 if fixed.shape[1] == 1 else NETWORK_GAIN
        mean = (1 - self.share) * fixed + self.share * (gain * learned)
        return np.asarray(mean if fixed.shape[1] == 1 else 2 * AGREEMENT * mean)

    def read(self, clips: Sequence[Steps]) -> Sequence[Steps]:
        """The sequences without gaps, scaled as the sense says, for an expert of several.

        Clips keep their means whatever the sense says: a modality that tells nothing by itself
        cannot tell what matters beside another one.
        """
        whole = all_without_gaps(clips, smooth=self.sense.smooth)
        return whole.with_rows(whole.rows / self.ridge.inputs[0].scale)


def class_shares(counts: Shaped[np.ndarray, " classes"]) -> Float64[np.ndarray, " classes"]:
    """How often a clip has each class; never 0, as another clip may be of any.

    >>> class_shares(np.array([3, 0])).tolist()
    [0.875, 0.125]
    """
    return np.asarray((counts + 0.5) / (counts.sum() + 0.5 * len(counts)))


def batches_by_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows of like length, batch by batch; a batch has bounded clips and steps."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        size = len(batch) + 1
        if batch and (size > MOST_CLIPS or size * lengths[row] > MOST_STEPS):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def learn_modality(lesson: Lesson) -> ModalityExperts:
    """Choose a sense, and fit both experts."""
    smooth = lesson.given.get("smooth")
    if smooth is None:
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
    held_out = ridge.found.held_out
    if lesson.outputs == 1:
        share = rehearsed_share(lesson, sense, held_out)
    else:
        share = class_share(lesson, taps.evidence(lesson.clips), held_out)
    return ModalityExperts(sense, ridge, taps, held_out, skill, share)


def class_share(lesson: Lesson, learned: Evidence, held_out: Evidence) -> float:
    """Half; nothing for a network that could not even learn its own clips.

    No rehearsal is needed: a network that is wrong of its training clips more than twice as often
    as the ridge of clips left out has learned little, and would be wrong of others more often.
    """
    labels = np.asarray(lesson.labels)
    wrong, fixed = (float(np.mean(is_wrong(said, labels))) for said in (learned, held_out))
    return 0.0 if wrong > HOPELESS * fixed + 1 / len(labels) else HALF


def rehearsed_share(lesson: Lesson, sense: Sense, held_out: Evidence) -> float:
    """How much the network counts beside the ridge, where the answer is a number.

    Another network learns from three quarters of the people (of the clips, where people are not
    known); the share is the one with which both answer best for the rest.
    """
    asked = rehearsing(lesson)
    taps = TapsExpert()
    taps.fit(lesson.part(np.flatnonzero(~asked)), sense)
    rest = lesson.part(np.flatnonzero(asked))
    ridge = held_out[asked]
    return best_share(taps.evidence(rest.clips) - ridge, rest.targets() - ridge)


def rehearsing(lesson: Lesson) -> Bool[np.ndarray, " clips"]:
    """Which clips are left out of a rehearsal: those of a quarter of the groups, one or more."""
    groups = lesson.groups
    if groups is None or len(np.unique(groups)) == 1:
        groups = np.arange(len(lesson.clips))
    every = np.random.default_rng((lesson.seed, PARTS)).permutation(np.unique(groups))
    return np.isin(groups, every[: max(1, len(every) // PARTS)])


def best_share(apart: Evidence, wrong: Evidence) -> float:
    """The share, from 0 to 1, that leaves the smallest squared error; one more clip says half.

    Args:
        apart: By how much the network says more than the ridge.
        wrong: By how much the label is more than the ridge says.

    >>> best_share(np.full((1000, 1), 2.0), np.full((1000, 1), 0.5)).__round__(2)
    0.25
    """
    doubt = float(np.mean(apart**2))
    if not doubt:
        return HALF
    wanted = float(np.sum(apart * wrong)) + HALF * doubt
    return min(max(wanted / (float(np.sum(apart**2)) + doubt), 0.0), 1.0)
