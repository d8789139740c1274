"""Feature columns that are made clip by clip, so that a file larger than memory can be read."""

from collections.abc import Callable, Sequence

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.clip import Steps
from mmalign.data.columns import LazyColumn


class Column(LazyColumn):
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


def column_of(arrays: Sequence[Array | None]) -> Column:
    """A column of arrays as they lie in the file, converted to float32 when asked for."""

    def make(index: int) -> Steps | None:
        array = arrays[index]
        return None if array is None else to_float32(array)

    return Column(len(arrays), make)


def to_float32(array: Array) -> Steps:
    """The array as float32, itself if it is; what float32 cannot hold becomes an infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        return array.astype(np.float32, copy=False)
