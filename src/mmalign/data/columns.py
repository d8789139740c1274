"""Feature columns whose sequences stay where they are until they are asked for."""

import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from jaxtyping import Bool, Float32, Int64, UInt8

from mmalign.data.arrays import Array
from mmalign.data.clip import Steps, StepsColumn

Counts = Int64[np.ndarray, " clips"]
FLOAT = np.dtype("<f4")

AT_ONCE, AROUND = 1 << 26, 1 << 19
"""Bytes of a mapped file that a column reads before their memory is given back, and what the system
maps around each of its sequences."""


class LazyColumn(StepsColumn, ABC):
    """One modality of a split; every sequence is made when it is asked for, and not kept."""

    @abstractmethod
    def _steps_of(self, index: int) -> Steps | None:
        """The sequence of the clip at an index (>= 0), or None where it is missing."""

    @overload
    def __getitem__(self, index: int) -> Steps | None: ...

    @overload
    def __getitem__(self, index: slice) -> list[Steps | None]: ...

    def __getitem__(self, index: int | slice) -> Steps | list[Steps | None] | None:
        size = len(self)
        if isinstance(index, slice):
            return [self._steps_of(row) for row in range(*index.indices(size))]
        if not -size <= index < size:
            raise IndexError(f"clip {index} of {size}")
        return self._steps_of(index % size)

    def __iter__(self) -> Iterator[Steps | None]:
        return map(self._steps_of, range(len(self)))


class MadeColumn(LazyColumn):
    """One modality of a split; every sequence is made when it is asked for, and not kept.

    Args:
        size: Number of clips.
        make: The sequence of the clip at an index, or None where it is missing.
    """

    def __init__(self, size: int, make: Callable[[int], Steps | None]) -> None:
        self._size = size
        self._make = make

    def __len__(self) -> int:
        return self._size

    def _steps_of(self, index: int) -> Steps | None:
        return self._make(index)


class StoredColumn(LazyColumn):
    """A column whose sequences lie somewhere in one block of bytes, e.g. a mapped file.

    Sequences are views. Choosing clips and dropping sequences moves no features, and many clips
    are copied at once without an array object for each of them.

    Args:
        stored: The block; little-endian float32 values where a sequence lies.
        starts: The byte at which each sequence begins.
        lengths: Steps of each sequence; 0 where it is missing.
        dim: Values a step.
    """

    def __init__(
        self, stored: UInt8[np.ndarray, " bytes"], starts: Counts, lengths: Counts, dim: int
    ) -> None:
        self._stored = stored
        self._starts = starts
        self.lengths = lengths
        self.dim = dim
        self._looked_at = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process has no such block: it gets the sequences themselves.
        return list, (list(self),)

    def _steps_of(self, index: int) -> Steps | None:
        length, start = self.lengths.item(index), self._starts.item(index)
        if length == 0:
            return None
        self._look_at(FLOAT.itemsize * length * self.dim, 1)
        steps: Steps = np.ndarray((length, self.dim), FLOAT, self._stored, start)
        return steps

    def _look_at(self, size: int, sequences: int) -> None:
        """Count what is read of a mapped file, and give its memory back every now and then.

        Pages that are read stay in memory until somebody needs it, so that a pass over a file would
        seem to take all of the file; what is read again comes from the system's cache.
        """
        self._looked_at += size + AROUND * sequences
        if self._looked_at > AT_ONCE:
            self._looked_at = 0
            base: Any = self._stored.base
            mapped = base.obj if isinstance(base, memoryview) else None
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)

    def select(self, rows: Sequence[int]) -> "StoredColumn":
        """The sequences at these positions, in this order."""
        chosen = np.array(rows, dtype=np.int64)
        return StoredColumn(self._stored, self._starts[chosen], self.lengths[chosen], self.dim)

    def without(self, is_gone: Bool[np.ndarray, " clips"]) -> "StoredColumn":
        """The same column; sequences that are gone are missing and no longer known."""
        starts, lengths = (np.where(is_gone, 0, known) for known in (self._starts, self.lengths))
        return StoredColumn(self._stored, starts, lengths, self.dim)

    def windows(
        self, rows: Int64[np.ndarray, " batch"], steps: int
    ) -> Float32[np.ndarray, "batch {steps} dim"] | None:
        """Copy that many steps from where each sequence begins, beyond its end if it is shorter.

        Returns:
            None if a window would leave the block.
        """
        size = FLOAT.itemsize * steps * self.dim
        places = len(self._stored) - size + 1
        starts = self._starts[rows]
        if (starts >= places).any():
            return None
        # An opaque item of a window's size at every byte: indexing copies each window in one go,
        # aligned or not. Array objects for the sequences would add a third to an epoch's time.
        window = np.dtype((np.void, size))
        items: Any = np.ndarray((places,), window, self._stored, strides=(1,))
        copied: Steps = items[starts].view(FLOAT).reshape(-1, self.dim)
        self._look_at(size * len(rows), len(rows))
        return copied.reshape(len(rows), steps, self.dim)


def lengths_of(column: StepsColumn) -> Counts:
    """Steps of each sequence; 0 where it is missing."""
    if isinstance(column, StoredColumn):
        return column.lengths.copy()
    return np.array([0 if steps is None else len(steps) for steps in column], dtype=np.int64)


def presence_in(column: StepsColumn) -> Bool[np.ndarray, " clips"]:
    """Which sequences are there."""
    if isinstance(column, StoredColumn):
        return column.lengths > 0
    return np.array([steps is not None for steps in column], dtype=bool)


def first_misfit(column: StepsColumn, dim: int) -> tuple[int, tuple[int, ...]] | None:
    """The first row whose sequence is not `[time, dim]` with a step or more, and its shape."""
    if isinstance(column, StoredColumn) and column.dim == dim:
        return None
    for row, steps in enumerate(column):
        if steps is not None and (steps.ndim != 2 or steps.shape[1] != dim or len(steps) == 0):
            return row, steps.shape
    return None


def select_from(column: StepsColumn, rows: Sequence[int]) -> StepsColumn:
    """The sequences at these positions, in this order."""
    if isinstance(column, StoredColumn):
        return column.select(rows)
    return [column[row] for row in rows]


def drop_from(column: StepsColumn, is_gone: Iterable[bool]) -> StepsColumn:
    """The column without the sequences that are gone: they become missing."""
    if isinstance(column, StoredColumn):
        return column.without(np.fromiter(is_gone, dtype=bool, count=len(column)))
    return [None if gone else steps for gone, steps in zip(is_gone, column, strict=True)]


def column_of(arrays: Sequence[Array | None]) -> MadeColumn:
    """A column of arrays as they lie in the file, converted to float32 when asked for."""

    def make(index: int) -> Steps | None:
        array = arrays[index]
        return None if array is None else to_float32(array)

    return MadeColumn(len(arrays), make)


def to_float32(array: Array) -> Steps:
    """The array as float32, itself if it is; what float32 cannot hold becomes an infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(np.float32, copy=False)
