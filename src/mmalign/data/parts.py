"""Modalities that a file keeps side by side in one, taken apart."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mmalign.data.clip import Steps
from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.errors import DataError

Parts = Mapping[str, Mapping[str, Sequence[int]]]
"""For each modality to take apart: the new modalities, each with its first feature and its end."""


def parted(dataset: Dataset, parts: Parts) -> Dataset:
    """Take modalities apart; the parts stand where the whole stood.

    >>> from mmalign.data import smartwatch
    >>> wrist = {"gyroscope": {"turn": (0, 1), "tilt": (1, 3)}}
    >>> parted(smartwatch(), wrist).dims
    {'accelerometer': 3, 'turn': 1, 'tilt': 2}

    Raises:
        DataError: If a modality is not in the data, or a part reaches beyond its features.
    """
    dataset.require(*parts)
    for whole, pieces in parts.items():
        width = dataset.dims[whole]
        for name, (start, end) in pieces.items():
            if not 0 <= start < end <= width:
                raise DataError(
                    f"{name!r} asks for features {start} to {end} of {width}",
                    modality=whole,
                    fix="Give the first feature, counted from 0, and the one after the last.",
                )
    splits = {name: _parted(split, parts) for name, split in dataset.splits.items()}
    dims: dict[str, int] = {}
    for whole, width in dataset.dims.items():
        pieces = parts.get(whole, {whole: (0, width)})
        dims |= {name: end - start for name, (start, end) in pieces.items()}
    return replace(dataset, dims=dims, splits=splits)


def _parted(split: Split, parts: Parts) -> Split:
    columns: dict[str, list[Steps | None]] = {}
    gapped = set()
    for whole, column in split.sequences.items():
        pieces = parts.get(whole, {whole: (0, None)})
        for name, (start, end) in pieces.items():
            columns[name] = [None if s is None else _features(s, start, end) for s in column]
        gapped |= set(pieces) if whole in split.gapped else set()
    return split.with_known_features(sequences=columns, gapped=frozenset(gapped))


def _features(steps: Steps, start: int, end: int | None) -> Steps:
    return np.ascontiguousarray(steps[:, start:end])
