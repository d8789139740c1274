"""Clips one after the other in one array, so that what is done to a step is done to all at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import SupportsIndex, overload

import numpy as np
from jaxtyping import Float32, Int64

from mmalign.data.clip import Steps

Rows = Float32[np.ndarray, "_ _"]
Bounds = Int64[np.ndarray, " _"]


@dataclass(frozen=True, eq=False)
class Packed(Sequence[Steps]):
    """Clips one after the other.

    Attributes:
        rows: All their steps.
        bounds: Where each clip begins; last, where the last one ends.

    >>> clips = packed([np.ones((2, 1), np.float32), np.zeros((1, 1), np.float32)])
    >>> clips.rows.tolist(), clips.bounds.tolist(), clips[1].tolist()
    ([[1.0], [1.0], [0.0]], [0, 2, 3], [[0.0]])
    """

    rows: Rows
    bounds: Bounds

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, row: SupportsIndex) -> Steps: ...

    @overload
    def __getitem__(self, row: slice) -> "Packed": ...

    def __getitem__(self, row: SupportsIndex | slice) -> "Steps | Packed":
        if isinstance(row, slice):
            start, stop, _ = row.indices(len(self))
            bounds = self.bounds[start : stop + 1]
            return Packed(self.rows[bounds[0] : bounds[-1]], bounds - bounds[0])
        place = range(len(self))[row]
        steps: Steps = self.rows[self.bounds[place] : self.bounds[place + 1]]
        return steps

    @property
    def lengths(self) -> Int64[np.ndarray, " clips"]:
        """Steps of each clip."""
        return np.diff(self.bounds)

    def with_rows(self, rows: Rows) -> "Packed":
        """Clips of the same lengths with other steps."""
        return Packed(rows, self.bounds)

    def changes(self) -> Rows:
        """What each step adds to the one before; nothing for the first of a clip."""
        found = np.zeros_like(self.rows)
        np.subtract(self.rows[1:], self.rows[:-1], out=found[1:])
        found[self.bounds[:-1]] = 0
        return found


def packed(clips: Sequence[Steps]) -> Packed:
    """The clips, one after the other; those that are so already stay as they are."""
    if isinstance(clips, Packed):
        return clips
    bounds = np.cumsum([0, *map(len, clips)], dtype=np.int64)
    return Packed(np.concatenate(clips, dtype=np.float32), bounds)
