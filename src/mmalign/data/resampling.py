"""Sequences of any length, averaged to the same number of steps."""

import itertools
from dataclasses import replace

import numpy as np

from mmalign.data.clip import Steps
from mmalign.data.dataset import Dataset
from mmalign.data.split import Split


def resampled(dataset: Dataset, steps: int) -> Dataset:
    """Average every sequence to this number of steps; a missing one stays missing."""

    def change(split: Split) -> Split:
        columns = {
            name: [None if found is None else squeezed(found, steps) for found in column]
            for name, column in split.sequences.items()
        }
        # Words and times belonged to the steps that were.
        return replace(split, sequences=columns, words=None, times=None)

    return replace(dataset, splits={name: change(split) for name, split in dataset.splits.items()})


def squeezed(sequence: Steps, steps: int) -> Steps:
    """Average a sequence to so many steps, each over its share of the time.

    >>> squeezed(np.arange(4.0, dtype=np.float32)[:, None], 2)[:, 0].tolist()
    [0.5, 2.5]
    """
    edges = np.linspace(0, len(sequence), steps + 1)
    rows = [
        sequence[int(start) : max(int(start) + 1, int(np.ceil(end)))].mean(axis=0)
        for start, end in itertools.pairwise(edges)
    ]
    return np.stack(rows).astype(np.float32)
