"""Features of frames to features of words: the mean over the frames that a word overlaps."""

from typing import Any

import numpy as np
from jaxtyping import Float32, Float64, Int64

EPSILON_SECONDS = 1e-6
"""Intervals that touch do not overlap; the SDK uses the same tolerance."""

Intervals = Float64[np.ndarray, "_ 2"]


def overlapping(intervals: Intervals, start: float, end: float) -> Int64[np.ndarray, " found"]:
    """Rows that share more than a point with [start, end].

    >>> import numpy as np
    >>> overlapping(np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]), 1.0, 2.5)
    array([1, 2])
    """
    begins = np.maximum(intervals[:, 0], start)
    ends = np.minimum(intervals[:, 1], end)
    return np.flatnonzero(ends - begins > EPSILON_SECONDS).astype(np.int64)


def mean_over_words(
    features: Float32[np.ndarray, "rows dim"], intervals: Intervals, words: Intervals
) -> tuple[Float32[np.ndarray, "words dim"], int]:
    """One row per word: the mean of the rows it overlaps; and how many words overlap none.

    A word that overlaps no row gets zeros, so that the modalities stay aligned.
    """
    steps = np.zeros((len(words), features.shape[1]), dtype=np.float32)
    uncovered = 0
    with np.errstate(invalid="ignore", over="ignore"):
        for index, (start, end) in enumerate(words):
            rows: Any = overlapping(intervals, start, end)
            if len(rows):
                steps[index] = features[rows].mean(axis=0, dtype=np.float64)
            else:
                uncovered += 1
    return steps, uncovered
