"""A panel: the experts of all modalities, and how much each counts in which company."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float64, Int64

from mmalign.data.clip import Steps
from mmalign.data.split import Split
from mmalign.data.task import Labels, Task
from mmalign.errors import DataError, located
from mmalign.experts.contract import Evidence, Lesson
from mmalign.experts.joint import FEWEST, candidates, held_out_by_few, is_clearly_better, joined
from mmalign.experts.modality import ModalityExperts, class_shares
from mmalign.experts.threads import learning_on_one_thread, reading_on_one_thread
from mmalign.experts.weights import (
    Hearing,
    Held,
    Weights,
    fit_weights,
    shown_by_others,
    trust_by_clips,
)

MOST_MODALITIES = 16
"""Of which every subset has weights: one more, and there are twice as many."""

Names = tuple[str, ...]
"""Some modalities, in the model's order."""

Said = Float64[np.ndarray, " outputs"]
"""What is said of one clip."""

Learn = Callable[[str, Lesson], ModalityExperts]
"""From a name and a lesson to the experts that learned it."""

Rows = Int64[np.ndarray, " rows"]


@dataclass(frozen=True)
class Panel:
    """What was learned: the answer for a clip is a weighted sum over the experts that it has.

    Attributes:
        task: What is predicted.
        prior: What is said of a clip of which nothing is known: logarithms of the classes' shares
            in training, or the mean label.
        members: Experts of single modalities first, then of those that are read together.
        weights: For every subset of the modalities, a weight for each member that it has.
    """

    task: Task
    prior: Said
    members: Mapping[Names, ModalityExperts]
    weights: Mapping[Names, Weights] = field(default_factory=dict)

    @property
    def modalities(self) -> Names:
        """Names of the modalities, in order."""
        return tuple(names[0] for names in self.members if len(names) == 1)

    def members_of(self, subset: Iterable[str]) -> list[Names]:
        """Which members a clip with these modalities has."""
        there = set(subset)
        return [names for names in self.members if there.issuperset(names)]

    def evidence(self, split: Split) -> Evidence:
        """The sum over what each clip has: scores of the classes, or one number."""
        with reading_on_one_thread():
            return self._evidence(split)

    def _evidence(self, split: Split) -> Evidence:
        present = {m: split.is_present(m) for m in self.modalities if m in split.sequences}
        total = np.repeat(self.prior[None], len(split), axis=0)
        said = {
            names: self._said(names, split)
            for names in self.members_of(m for m, rows in present.items() if rows.any())
        }
        for subset, rows in patterns(present, len(split)):
            for names, weight in zip(self.members_of(subset), self.weights[subset], strict=True):
                total[rows] += weight * said[names][rows]
        return total

    def _said(self, names: Names, split: Split) -> Evidence:
        """What a member says of each clip beside its prior; NaN where it cannot."""
        said = np.full((len(split), self.task.outputs), np.nan)
        rows = np.flatnonzero(split.has_all(names))
        if len(rows):
            clips = self.sequences(names, split, rows)
            said[rows] = self.members[names].evidence(clips) - self.prior_of(names)
        return said

    def prior_of(self, names: Names) -> Said:
        """What a member says of a clip of which it knows nothing.

        Each knows how often the classes are; in their sum that must not count as often as there
        are members.
        """
        return self.prior if self.task.outputs == 1 else self.members[names].prior

    def sequences(self, names: Names, split: Split, rows: Rows) -> list[Steps]:
        """What a member reads of the clips at these rows, all of which have its modalities."""
        columns = [steps_of(split, name, rows) for name in names]
        if len(names) == 1:
            return columns[0]
        read = [self.members[name,].read(c) for name, c in zip(names, columns, strict=True)]
        return [joined(parts) for parts in zip(*read, strict=True)]


def learn_panel(split: Split, lessons: Mapping[str, Lesson], learn: Learn) -> Panel:
    """Learn each modality, then what is clearly better read together, then the weights.

    Raises:
        DataError: If there are too many modalities.
    """
    with learning_on_one_thread():
        return _learn_panel(split, lessons, learn)


def _learn_panel(split: Split, lessons: Mapping[str, Lesson], learn: Learn) -> Panel:
    if len(lessons) > MOST_MODALITIES:
        raise DataError(
            f"{len(lessons)} modalities: each subset of them has weights of its own",
            fix=f"Put some side by side, so that there are {MOST_MODALITIES} or fewer.",
        )
    first = next(iter(lessons.values()))
    labels: Labels = split.labels if split.labels is not None else first.labels
    prior = np.array([np.mean(labels, dtype=np.float64)])
    if first.outputs > 1:
        prior = np.log(class_shares(np.bincount(labels, minlength=first.outputs)))
    singles: dict[Names, ModalityExperts] = {}
    for name, lesson in lessons.items():
        with located(modality=name):
            singles[name,] = learn(name, lesson)
    panel = _with_joints(Panel(first.task, prior, singles), split, lessons, labels, learn)
    everything = panel.modalities
    subsets = [
        subset
        for size in range(1, len(everything) + 1)
        for subset in itertools.combinations(everything, size)
    ]
    held = {names: _held(panel, names, split, lessons) for names in panel.members}
    weights = {subset: _weights(panel, subset, held, labels) for subset in subsets}
    return replace(panel, weights=weights)


def _with_joints(
    panel: Panel, split: Split, lessons: Mapping[str, Lesson], labels: Labels, learn: Learn
) -> Panel:
    """The panel with joint experts, where they are clearly better than the sum of the others."""
    for names in candidates(panel.modalities):
        rows = np.flatnonzero(split.has_all(names))
        if len(rows) < FEWEST:
            continue
        clips = panel.sequences(names, split, rows)
        lesson = replace(_lesson(names, split, lessons), clips=clips, given={})
        held = np.stack([_held(panel, n, split, lessons)[rows] for n in panel.members_of(names)])
        joint = held_out_by_few(lesson) - _ridge_prior(panel, lesson)
        if is_clearly_better(_hearing(panel, held, labels[rows]), joint):
            experts = learn("+".join(names), lesson)
            panel = replace(panel, members={**panel.members, names: experts})
    return panel


def _lesson(names: Names, split: Split, lessons: Mapping[str, Lesson]) -> Lesson:
    """What clips that have all of these modalities teach about the first."""
    own, rows = (np.flatnonzero(split.has_all(some)) for some in (names[:1], names))
    return lessons[names[0]].part(np.searchsorted(own, rows))


def _held(panel: Panel, names: Names, split: Split, lessons: Mapping[str, Lesson]) -> Evidence:
    """What a ridge says of training clips left out beside its prior; NaN where it cannot know."""
    lesson = _lesson(names, split, lessons)
    said = panel.members[names].held_out - _ridge_prior(panel, lesson)
    if panel.task.outputs > 1:
        said[~shown_by_others(np.asarray(lesson.labels), lesson.groups)] = np.nan
    held = np.full((len(split), panel.task.outputs), np.nan)
    held[split.has_all(names)] = said
    return held


def _ridge_prior(panel: Panel, lesson: Lesson) -> Said:
    """What a ridge that learned the lesson says of a clip of which it knows nothing."""
    return panel.prior if panel.task.outputs == 1 else lesson.mean


def _weights(
    panel: Panel, subset: Names, held: Mapping[Names, Evidence], labels: Labels
) -> Weights:
    members = panel.members_of(subset)
    said = np.stack([held[names] for names in members])
    trust = trust_by_clips([panel.members[names].clips for names in members])
    return fit_weights(_hearing(panel, said, labels), trust)


def _hearing(panel: Panel, held: Held, labels: Labels) -> Hearing:
    if panel.task.outputs > 1:
        return Hearing(held, np.asarray(labels, np.int64), panel.prior)
    return Hearing(held, np.asarray(labels, np.float64) - panel.prior, np.zeros(1))


def patterns(
    present: Mapping[str, Bool[np.ndarray, " clips"]], clips: int
) -> list[tuple[Names, Rows]]:
    """Which clips have exactly which modalities."""
    rows: dict[Names, list[int]] = {}
    for row in range(clips):
        rows.setdefault(tuple(m for m in present if present[m][row]), []).append(row)
    return [(subset, np.array(found)) for subset, found in rows.items()]


def steps_of(split: Split, modality: str, rows: Rows) -> list[Steps]:
    """The sequences at rows that have the modality."""
    return [one for row in rows if (one := split.sequences[modality][int(row)]) is not None]
