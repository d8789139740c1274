"""Sequences of any length, averaged to the same number of steps."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mmalign.data.clip import Steps
from mmalign.data.dataset import Dataset
from mmalign.data.gaps import observed_in
from mmalign.data.split import Split


def resampled(dataset: Dataset, steps: int) -> Dataset:
    """Average every sequence to this number of steps; a missing one stays missing.

    Gaps have no say in a mean; a step of which nothing was observed is a gap.
    """

    def change(split: Split) -> Split:
        columns = {}
        for name, column in split.sequences.items():
            squeeze = squeezed_gapped if name in split.gapped else squeezed
            columns[name] = [None if found is None else squeeze(found, steps) for found in column]
        # Words and times belonged to the steps that were.
        return replace(split, sequences=columns, words=None, times=None)

    return replace(dataset, splits={name: change(split) for name, split in dataset.splits.items()})


def squeezed(sequence: Steps, steps: int) -> Steps:
    """Average a sequence to so many steps, each over its share of the time.

    >>> squeezed(np.arange(4.0, dtype=np.float32)[:, None], 2)[:, 0].tolist()
    [0.5, 2.5]
    """
    rows = [share.mean(axis=0) for share in _shares(sequence, steps)]
    return np.stack(rows).astype(np.float32)


def squeezed_gapped(sequence: Steps, steps: int) -> Steps:
    """The same for a sequence with gaps: means of what was observed; a gap where nothing was."""
    means = []
    for share in _shares(sequence, steps):
        there = share[observed_in(share)]
        means.append(there.mean(axis=0) if len(there) else share[0])
    return np.stack(means).astype(np.float32)


def _shares(sequence: Steps, steps: int) -> Iterator[Steps]:
    edges = np.linspace(0, len(sequence), steps + 1)
    for start, end in itertools.pairwise(edges):
        yield sequence[int(start) : max(int(start) + 1, int(np.ceil(end)))]
