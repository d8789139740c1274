"""Splits stored as arrays `[clips, time, dim]` (MulT, MMSA): what both layouts share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.clip import Steps
from mmalign.data.readers.columns import Column, to_float32
from mmalign.data.readers.padding import Bounds
from mmalign.data.readers.values import describe, is_text, to_text, to_texts
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.errors import DataError

MODALITIES = ("text", "vision", "audio")


@dataclass(frozen=True)
class Padded:
    """One split: arrays of equally many clips, and where each clip begins and ends in them."""

    ids: tuple[str, ...]
    arrays: Mapping[str, Array]
    bounds: Mapping[str, Bounds]
    words: Sequence[Sequence[str]] | None = None

    @property
    def kept(self) -> list[int]:
        """Clips that hold anything but zeros in any modality."""
        lengths = sum(b[:, 1] - b[:, 0] for b in self.bounds.values())
        return np.flatnonzero(lengths).tolist()

    def split(self, labels: Labels | None) -> Split:
        """The clips that hold anything, without their padding."""
        kept = self.kept
        return Split(
            ids=tuple(self.ids[row] for row in kept),
            labels=None if labels is None else labels[kept],
            sequences={name: self._column(name, kept) for name in self.arrays},
            words=None if self.words is None else [self.words[row] for row in kept],
        )

    def notes(self, split: str) -> list[str]:
        """What a user should know: clips left out, sequences that are all zeros."""
        notes = []
        gone = len(self.ids) - len(self.kept)
        if gone:
            notes.append(f"{split}: left out {gone} clips that are all zeros")
        for name, bounds in self.bounds.items():
            empty = int((bounds[:, 0] == bounds[:, 1]).sum()) - gone
            if empty:
                notes.append(f"{split}: {name} of {empty} clips is all zeros: taken as missing")
        return notes

    def _column(self, modality: str, kept: Sequence[int]) -> Column:
        array, bounds = self.arrays[modality], self.bounds[modality]

        def make(index: int) -> Steps | None:
            row = kept[index]
            start, stop = bounds[row]
            return to_float32(array[row, start:stop]) if stop > start else None

        return Column(len(kept), make)


def feature_arrays(content: Mapping[Any, Any]) -> dict[str, Array]:
    """The arrays `[clips, time, dim]` of a split, all with equally many clips.

    Raises:
        DataError: If one has another shape.
    """
    arrays = {name: content[name] for name in MODALITIES if name in content}
    sizes = {}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu" or array.ndim != 3:
            raise DataError(f"expected [clips, time, dim], got {describe(array)}", modality=name)
        sizes[name] = len(array)
    if len(set(sizes.values())) != 1:
        counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise DataError(f"different numbers of clips: {counts or 'no modality'}")
    return arrays


def common_dims(splits: Mapping[str, Mapping[str, Array]]) -> dict[str, int]:
    """Feature dimensions that all splits share.

    Raises:
        DataError: If splits disagree on modalities or dims.
    """
    described = {name: {m: int(a.shape[2]) for m, a in s.items()} for name, s in splits.items()}
    first = next(iter(described.values()))
    for name, dims in described.items():
        if dims != first:
            raise DataError(f"modalities are {dims}, in the first split {first}", split=name)
    return first


def clip_ids(value: Any, count: int, split: str) -> tuple[str, ...]:
    """Ids of the clips: as stored, joined where one has several parts, or counted.

    Raises:
        DataError: If there are not as many ids as clips.
    """
    if value is None:
        return tuple(f"{split}-{number:05d}" for number in range(count))
    rows = list(value) if isinstance(value, list | tuple | np.ndarray) else []
    if len(rows) != count:
        raise DataError(f"expected {count} ids, got {describe(value)}")
    return tuple(_id_text(row) for row in rows)


def _id_text(row: Any) -> str:
    if is_text(row):
        return to_text(row)
    parts = row.reshape(-1).tolist() if isinstance(row, np.ndarray) else row
    if isinstance(parts, list | tuple) and len(parts) <= 8:
        return "_".join(_id_text(p) for p in parts if not isinstance(p, list | tuple | np.ndarray))
    if isinstance(parts, int | float | np.number):
        return f"{float(parts):g}"
    raise DataError(f"expected an id, got {describe(row)}")


def sentences(value: Any, count: int) -> list[list[str]] | None:
    """The words of each clip, where its text is stored as one string."""
    if value is None:
        return None
    texts = to_texts(value)
    if len(texts) != count:
        raise DataError(f"expected {count} texts, got {len(texts)}")
    return [text.split() for text in texts]
