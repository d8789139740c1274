"""Where the clips of a padded array begin and end when no lengths are stored."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
from jaxtyping import Bool, Int64

from mmalign.data.arrays import Array

Used = Bool[np.ndarray, "_ _"]
Bounds = Int64[np.ndarray, "_ 2"]
Side = Literal["front", "end", "none"]


def used_steps(array: Array) -> Used:
    """Which steps of `[clips, time, dim]` hold anything but zeros; NaN and infinity count."""
    with np.errstate(invalid="ignore"):  # a signalling NaN is a value as well
        return np.asarray(array.any(axis=2), dtype=bool)


def padding_side(used: Iterable[Used]) -> Side:
    """The side on which more clips have zeros; the other side's zeros are data.

    >>> import numpy as np
    >>> padding_side([np.array([[False, True, True], [True, True, True]])])
    'front'
    """
    front = end = 0
    for steps in used:
        if steps.shape[1] == 0:
            continue
        holds_any = steps.any(axis=1)
        front += int((~steps[:, 0] & holds_any).sum())
        end += int((~steps[:, -1] & holds_any).sum())
    if front == end == 0:
        return "none"
    return "front" if front > end else "end"


def bounds_of(used: Used, side: Side) -> Bounds:
    """First step and end of each clip once the padding is stripped; equal where nothing is left."""
    clips, time = used.shape
    bounds = np.zeros((clips, 2), dtype=np.int64)
    bounds[:, 1] = time
    holds_any = used.any(axis=1) if time else np.zeros(clips, dtype=bool)
    if side == "front" and time:
        bounds[:, 0] = used.argmax(axis=1)
    elif side == "end" and time:
        bounds[:, 1] = time - used[:, ::-1].argmax(axis=1)
    bounds[~holds_any] = 0
    return bounds


def bounds_from_lengths(lengths: Int64[np.ndarray, " clips"], time: int) -> Bounds:
    """Clips that begin at step 0 and have these lengths, none of them beyond the array."""
    stops = np.clip(lengths, 0, time)
    return np.stack([np.zeros_like(stops), stops], axis=1)
