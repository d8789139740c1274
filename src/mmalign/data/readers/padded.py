"""Splits stored as arrays `[clips, time, dim]` (MulT, MMSA): what both layouts share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.clip import Steps
from mmalign.data.columns import MadeColumn, to_float32
from mmalign.data.dataset import Dataset
from mmalign.data.labels import LabelColumn, pick
from mmalign.data.readers.drafts import Draft, assemble
from mmalign.data.readers.padding import Bounds
from mmalign.data.readers.values import is_text, to_text, unexpected
from mmalign.data.task import Task
from mmalign.errors import DataError

MODALITIES = ("text", "vision", "audio")


@dataclass(frozen=True)
class Padded:
    """One split: arrays of equally many clips, and where each clip begins and ends in them."""

    ids: tuple[str, ...]
    arrays: Mapping[str, Array]
    bounds: Mapping[str, Bounds]
    labels: LabelColumn | None
    words: Sequence[Sequence[str]] | None = None

    @property
    def kept(self) -> list[int]:
        """Clips that hold anything but zeros in any modality."""
        lengths = sum(b[:, 1] - b[:, 0] for b in self.bounds.values())
        return np.flatnonzero(lengths).tolist()

    def draft(self) -> Draft:
        """The clips that hold anything, without their padding."""
        kept = self.kept
        return Draft(
            ids=[self.ids[row] for row in kept],
            labels=None if self.labels is None else pick(self.labels, kept),
            sequences={name: self._column(name, kept) for name in self.arrays},
            words=None if self.words is None else [self.words[row] for row in kept],
        )

    def notes(self, split: str) -> list[str]:
        """Notes for the user: clips left out, sequences that are all zeros."""
        notes = []
        gone = len(self.ids) - len(self.kept)
        if gone:
            notes.append(f"{split}: left out {gone} clips that are all zeros")
        for name, bounds in self.bounds.items():
            empty = int((bounds[:, 0] == bounds[:, 1]).sum()) - gone
            if empty:
                notes.append(f"{split}: {name} of {empty} clips is all zeros: taken as missing")
        return notes

    def _column(self, modality: str, kept: Sequence[int]) -> MadeColumn:
        array, bounds = self.arrays[modality], self.bounds[modality]

        def make(index: int) -> Steps | None:
            row = kept[index]
            start, stop = bounds[row]
            return to_float32(array[row, start:stop]) if stop > start else None

        return MadeColumn(len(kept), make)


def assemble_padded(splits: Mapping[str, Padded], task: Task, notes: Iterable[str]) -> Dataset:
    """The dataset of these splits.

    Raises:
        DataError: If splits disagree on modalities or dims, or a label does not fit the task.
    """
    dims = {n: {m: int(a.shape[2]) for m, a in s.arrays.items()} for n, s in splits.items()}
    first = next(iter(dims.values()))
    for name, own in dims.items():
        if own != first:
            raise DataError(
                f"modalities are {own}, in the first split {first}",
                split=name,
                fix="All splits share their modalities and dims.",
            )
    drafts = {name: padded.draft() for name, padded in splits.items()}
    found = [note for name, padded in splits.items() for note in padded.notes(name)]
    return assemble(drafts, first, task, (*notes, *found))


def feature_arrays(content: Mapping[Any, Any]) -> dict[str, Array]:
    """The arrays `[clips, time, dim]` of a split, all with equally many clips.

    Raises:
        DataError: If one has another shape.
    """
    arrays = {name: content[name] for name in MODALITIES if name in content}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu" or array.ndim != 3:
            raise unexpected("[clips, time, dim]", array, modality=name)
    if len({len(array) for array in arrays.values()}) != 1:
        counts = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
        raise DataError(
            f"different numbers of clips: {counts or 'no modality'}",
            fix="Store every modality of every clip; zeros stand for a missing one.",
        )
    return arrays


def axes_of(content: Mapping[Any, Any]) -> set[int]:
    """Numbers of axes of the modalities that are there; -1 for one that is no array."""
    values = [content[name] for name in MODALITIES if name in content]
    return {value.ndim if isinstance(value, np.ndarray) else -1 for value in values}


def clips_in(arrays: Mapping[str, Array]) -> int:
    """How many clips the arrays of a split hold."""
    return len(next(iter(arrays.values())))


def clip_ids(value: Any, count: int, split: str) -> tuple[str, ...]:
    """Ids of the clips: as stored, joined where one has several parts, or counted.

    Raises:
        DataError: If there are not as many ids as clips.
    """
    if value is None:
        return tuple(f"{split}-{number:05d}" for number in range(count))
    rows = list(value) if isinstance(value, list | tuple | np.ndarray) else []
    if len(rows) != count:
        raise unexpected(f"{count} ids", value)
    return tuple(_id_text(row) for row in rows)


def _id_text(row: Any) -> str:
    if is_text(row):
        return to_text(row)
    parts = row.reshape(-1).tolist() if isinstance(row, np.ndarray) else row
    if isinstance(parts, list | tuple) and len(parts) <= 8:
        return "_".join(_id_text(p) for p in parts if not isinstance(p, list | tuple | np.ndarray))
    if isinstance(parts, int | float | np.number):
        return f"{float(parts):g}"
    raise unexpected("an id", row)
