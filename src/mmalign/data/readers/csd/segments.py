"""Labelled segments of videos, and a modality cut to one of them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from mmalign.data.clip import Steps
from mmalign.data.readers.csd.alignment import Intervals, mean_over_words, overlapping
from mmalign.data.readers.csd.folder import Folder
from mmalign.data.readers.csd.sequences import (
    ComputationalSequence,
    FeatureSequence,
    WordSequence,
)
from mmalign.progress import track

PAUSE = "sp"


@dataclass(frozen=True)
class Segment:
    """One labelled stretch of a video; `steps` are the intervals of its words."""

    id: str
    entry: str
    start: float
    end: float
    label: Float32[np.ndarray, " columns"]
    words: list[str] | None
    steps: Intervals | None

    @property
    def times(self) -> Intervals | None:
        """Start and end of each word, from the beginning of the segment."""
        return None if self.steps is None else self.steps - self.start


def find_segments(folder: Folder) -> tuple[list[Segment], int]:
    """Every labelled segment that has steps, and the number of those that have none."""
    segments, empty = [], 0
    for entry, rows in track(list(folder.labels.rows.items()), "aligning videos"):
        intervals, labels = folder.labels.intervals[rows], folder.labels.features[rows]
        for number, (start, end) in enumerate(intervals.tolist()):
            clip_id = entry if "[" in entry else f"{entry}[{number}]"
            words, steps = _steps(folder, entry, start, end)
            segment = Segment(clip_id, entry, start, end, labels[number], words, steps)
            if _has_steps(folder, segment):
                segments.append(segment)
            else:
                empty += 1
    return segments, empty


def cut(sequence: FeatureSequence, segment: Segment) -> tuple[Steps | None, int]:
    """A modality in a segment, a step per word if there are words; and words without a frame."""
    rows: Any = _rows(sequence, segment)
    if not len(rows):
        return None, 0
    features: Steps = sequence.features[rows]
    if segment.steps is None:
        return features, 0
    return mean_over_words(features, sequence.intervals[rows], segment.steps)


def _steps(
    folder: Folder, entry: str, start: float, end: float
) -> tuple[list[str] | None, Intervals | None]:
    """Words of a segment and their intervals, cut to it; pauses are dropped."""
    pivot = folder.pivot
    if pivot is None:
        return None, None
    rows = pivot.rows_of(entry)
    words = pivot.words[rows] if isinstance(pivot, WordSequence) else None
    intervals = pivot.intervals[rows]
    found = overlapping(intervals, start, end).tolist()
    kept = [row for row in found if words is None or words[row] != PAUSE]
    steps: Intervals = np.clip(intervals[kept].reshape(-1, 2), start, end)
    return None if words is None else [words[row] for row in kept], steps


def _has_steps(folder: Folder, segment: Segment) -> bool:
    if segment.steps is not None:
        return len(segment.steps) > 0
    return any(len(_rows(sequence, segment)) for sequence in folder.modalities.values())


def _rows(sequence: ComputationalSequence, segment: Segment) -> Int64[np.ndarray, " rows"]:
    rows = sequence.rows_of(segment.entry)
    found = overlapping(sequence.intervals[rows], segment.start, segment.end)
    shifted: Int64[np.ndarray, " rows"] = np.add(found, rows.start)
    return shifted
