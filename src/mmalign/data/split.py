"""A split: clips stored column by column, so that selecting and dropping cost nothing."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64, Shaped

from mmalign.data.clip import Clip, Observed, Steps, StepsColumn, Times
from mmalign.data.columns import drop_from, lengths_of, presence_in, select_from
from mmalign.data.gaps import declared_gaps, observed_in
from mmalign.data.labels import encode_labels
from mmalign.data.task import Labels, Task
from mmalign.errors import DataError, no_modality

UNFIT = (TypeError, ValueError, OverflowError, RuntimeError)
"""What numpy and torch raise at values that are no numbers, or that are elsewhere."""


@dataclass(frozen=True, eq=False)
class Split:
    """Clips of one part of a dataset (train, valid or test).

    Column `sequences[modality][i]` is a view `[time, dim]` of clip i's features, or None where
    the modality is missing; views may point into a memory-mapped file. `task` is known where the
    split was taken out of a dataset, `groups` (the person or video of each clip) where the data
    tells. A step that is missing inside a sequence, a gap, is a row of NaN; only the modalities
    named in `gapped` may have such rows. `is_finite` says that the features were checked and hold
    no other NaN and no infinity; a split with other sequences, `replace(split, sequences=…)`, is
    unchecked.
    """

    ids: tuple[str, ...]
    labels: Labels | None
    sequences: Mapping[str, StepsColumn]
    words: Sequence[Sequence[str] | None] | None = None
    times: Sequence[Times | None] | None = None
    task: Task | None = None
    groups: tuple[str, ...] | None = None
    gapped: frozenset[str] = frozenset()
    is_finite: bool = field(default=False, init=False, compare=False)

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        there = [f"{name} in {int(self.is_present(name).sum())}" for name in self.modalities]
        labels = "no labels" if self.labels is None else "labels"
        return f"Split({len(self)} clips, {labels}; {', '.join(there)})"

    def __getitem__(self, index: int) -> Clip:
        return Clip(
            id=self.ids[index],
            label=None if self.labels is None else self.labels[index].item(),
            sequences={name: column[index] for name, column in self.sequences.items()},
            words=None if self.words is None else self.words[index],
            times=None if self.times is None else self.times[index],
            observed=self._observed_at(index),
            group=None if self.groups is None else self.groups[index],
        )

    def _observed_at(self, index: int) -> dict[str, Observed]:
        gapped = {name: self.sequences[name][index] for name in sorted(self.gapped)}
        return {name: observed_in(steps) for name, steps in gapped.items() if steps is not None}

    def __iter__(self) -> Iterator[Clip]:
        return (self[index] for index in range(len(self)))

    @property
    def modalities(self) -> tuple[str, ...]:
        """Names of the modalities, in order."""
        return tuple(self.sequences)

    def is_present(self, modality: str) -> Bool[np.ndarray, " clips"]:
        """Which clips have the modality."""
        return presence_in(self.sequences[modality])

    def has_any(self, modalities: Iterable[str]) -> Bool[np.ndarray, " clips"]:
        """Which clips have one of the modalities, of which the split may lack some altogether."""
        found = np.zeros(len(self), bool)
        for name in self.sequences.keys() & modalities:
            found |= self.is_present(name)
        return found

    def has_all(self, modalities: Iterable[str]) -> Bool[np.ndarray, " clips"]:
        """Which clips have all of the modalities."""
        found: Bool[np.ndarray, " clips"]
        found = np.all([self.is_present(name) for name in modalities], axis=0)
        return found

    def lengths(self, modality: str) -> Int64[np.ndarray, " clips"]:
        """Steps of each clip in the modality; 0 where it is missing."""
        return lengths_of(self.sequences[modality])

    def observed(self, modality: str) -> list[Observed | None]:
        """Which steps of each clip are there, the others being gaps; None where all is missing."""
        if modality in self.gapped:
            return [None if s is None else observed_in(s) for s in self.sequences[modality]]
        lengths = self.lengths(modality).tolist()
        return [np.ones(length, dtype=bool) if length else None for length in lengths]

    def select(self, indices: Iterable[int] | Int64[np.ndarray, " rows"]) -> "Split":
        """The clips at these positions, in this order."""
        rows = [int(index) for index in indices]
        return self.with_known_features(
            ids=tuple(self.ids[row] for row in rows),
            labels=None if self.labels is None else self.labels[rows],
            sequences={m: select_from(column, rows) for m, column in self.sequences.items()},
            words=None if self.words is None else [self.words[row] for row in rows],
            times=None if self.times is None else [self.times[row] for row in rows],
            groups=None if self.groups is None else tuple(self.groups[row] for row in rows),
        )

    def only(self, modalities: Sequence[str]) -> "Split":
        """The same clips with these modalities alone."""
        if tuple(modalities) == tuple(self.sequences):
            return self
        kept = {name: self.sequences[name] for name in modalities}
        return self.with_known_features(sequences=kept, gapped=self.gapped.intersection(kept))

    def without(self, modality: str, ids: Collection[str]) -> "Split":
        """The same clips; those named lose the modality: its arrays are dropped, not zeroed.

        Raises:
            DataError: If there is no such modality.
        """
        if modality not in self.sequences:
            raise no_modality(modality, self.sequences, "There are")
        gone = frozenset(ids)  # a tuple would be searched for every clip
        kept = drop_from(self.sequences[modality], (clip_id in gone for clip_id in self.ids))
        return self.with_known_features(sequences={**self.sequences, modality: kept})

    def with_known_features(self, **changes: Any) -> "Split":
        """Replace fields by others that bring no new features: if these were checked, they are."""
        changed = replace(self, **changes)
        return changed.checked_finite() if self.is_finite else changed

    def checked_finite(self) -> "Split":
        """The same split, marked as one whose features hold no infinity, and NaN in gaps only."""
        checked = copy(self)
        object.__setattr__(checked, "is_finite", True)
        return checked

    @staticmethod
    def joined(parts: Sequence["Split"]) -> "Split":
        """The clips of all parts, one after the other; a single part stays what it is."""
        if len(parts) == 1:
            return parts[0]
        labels = [part.labels for part in parts if part.labels is not None]
        groups = [part.groups for part in parts if part.groups is not None]
        split = Split(
            ids=tuple(clip_id for part in parts for clip_id in part.ids),
            labels=np.concatenate(labels) if len(labels) == len(parts) else None,
            sequences={m: [s for p in parts for s in p.sequences[m]] for m in parts[0].sequences},
            words=_chained([(part.words, len(part)) for part in parts]),
            times=_chained([(part.times, len(part)) for part in parts]),
            task=parts[0].task,
            groups=tuple(chain(*groups)) if len(groups) == len(parts) else None,
            gapped=frozenset().union(*(part.gapped for part in parts)),
        )
        return split.checked_finite() if all(part.is_finite for part in parts) else split

    @staticmethod
    def from_clips(clips: Sequence[Clip], modalities: Sequence[str], task: Task) -> "Split":
        """Columns from rows; labels are encoded by the task, features become float32.

        Steps that a clip says were not observed become NaN; a sequence without any is missing.

        Raises:
            DataError: If a label does not fit the task, only some clips have one (or a group), a
                sequence is no table of numbers, or `observed` does not fit it.
        """
        labels = _labels_of(clips, task)
        return replace(
            Split.features_of(clips, modalities, task),
            labels=labels,
            words=[c.words for c in clips] if any(c.words is not None for c in clips) else None,
            times=[c.times for c in clips] if any(c.times is not None for c in clips) else None,
            groups=whole_groups([clip.id for clip in clips], [clip.group for clip in clips]),
        )

    @staticmethod
    def features_of(clips: Sequence[Clip], modalities: Sequence[str], task: Task) -> "Split":
        """The same columns without labels, groups, words and times: what a prediction looks at.

        Raises:
            DataError: If a sequence is no table of numbers, or `observed` does not fit it.
        """
        return Split(
            ids=tuple([clip.id for clip in clips]),
            labels=None,
            sequences={m: [_to_steps(clip, m) for clip in clips] for m in modalities},
            task=task,
            gapped=frozenset(
                name for clip in clips for name in clip.observed if name in modalities
            ),
        )


def _chained(columns: Sequence[tuple[Sequence[Any] | None, int]]) -> list[Any] | None:
    if all(column is None for column, _ in columns):
        return None
    filled = (column if column is not None else [None] * size for column, size in columns)
    return [value for column in filled for value in column]


def _to_steps(clip: Clip, modality: str) -> Steps | None:
    features = clip.sequences.get(modality)
    if features is None:
        return None
    fix = "A sequence is an array of numbers [time, dim]; None stands for a missing one."
    if getattr(getattr(features, "dtype", None), "kind", "") in ("U", "S"):
        fix = f"{fix} Leave facts about a clip out, or choose its modalities: modalities=[…]."
        raise DataError("not numbers but text", clip=clip.id, modality=modality, fix=fix)
    try:
        steps = _numbers(features)
    except UNFIT as error:
        problem = f"not numbers ({error})"
        raise DataError(problem, clip=clip.id, modality=modality, fix=fix) from error
    if steps.ndim != 2:
        problem = f"expected [time, dim], got {list(steps.shape)}"
        fix = "Give one number per step as array[:, None]." if steps.ndim == 1 else fix
        raise DataError(problem, clip=clip.id, modality=modality, fix=fix)
    return declared_gaps(clip, modality, steps)


def _numbers(features: Any) -> Shaped[np.ndarray, "..."]:
    """The features as float32; NaN where an array masks them.

    Raises:
        ValueError: If they are dates, records, or numbers of another kind.
    """
    array = np.asanyarray(features)
    if array.dtype.kind in "cMmV":
        raise ValueError(f"{array.dtype} cannot be float32")
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float32), np.nan)
    with np.errstate(over="ignore"):  # an infinity, which is refused with its place
        return np.asarray(array, dtype=np.float32)


def whole_groups(ids: Sequence[str], groups: Sequence[str | None]) -> tuple[str, ...] | None:
    """The group of every clip, or None where no clip has one.

    Raises:
        DataError: If only some clips have one.
    """
    known = tuple(group for group in groups if group is not None)
    if known and len(known) < len(groups):
        raise DataError(
            "no group, though other clips have one",
            clip=ids[groups.index(None)],
            fix="Name the person or video of every clip, or of none.",
        )
    return known or None


def _labels_of(clips: Sequence[Clip], task: Task) -> Labels | None:
    labels = [clip.label for clip in clips]
    if all(label is None for label in labels):
        return None
    return encode_labels([clip.id for clip in clips], labels, task)
