"""What a dataset holds, as one plain description for tables and JSON."""

from typing import Any

import numpy as np

from mmalign.data.dataset import Dataset
from mmalign.data.gaps import count_gaps, observed_in
from mmalign.data.non_finite import find_non_finite
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels, Task, task_to_json
from mmalign.evaluation.floors import constant_floor
from mmalign.progress import track

QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
HISTOGRAM_BINS = 7


def inspect_dataset(dataset: Dataset) -> dict[str, Any]:
    """Splits, modalities, lengths, labels, missing, gaps, non-finite values, constants, floors."""
    return {
        "task": task_to_json(dataset.task),
        "notes": list(dataset.notes),
        "modalities": {
            name: {"dim": dim, "constant_features": _constant_features(dataset, name)}
            for name, dim in dataset.dims.items()
        },
        "splits": {
            name: _describe_split(dataset, split)
            for name, split in track(dataset.splits.items(), "inspecting")
        },
        "non_finite": [vars(found) for found in find_non_finite(dataset)],
    }


def _describe_split(dataset: Dataset, split: Split) -> dict[str, Any]:
    return {
        "clips": len(split),
        "modalities": {name: _describe_modality(split, name) for name in dataset.dims},
        "labels": None if split.labels is None else _histogram(dataset.task, split.labels),
        "floor": None if split.labels is None else _floor(dataset, split.labels),
        "has_words": split.words is not None,
        "has_times": split.times is not None,
    }


def _describe_modality(split: Split, name: str) -> dict[str, Any]:
    lengths = split.lengths(name)
    present = lengths[lengths > 0]
    gaps = count_gaps(split.observed(name) if name in split.gapped else ())
    quantiles = np.quantile(present, QUANTILES, method="nearest") if len(present) else present
    return {
        "missing": int((lengths == 0).sum()),
        "steps": int(lengths.sum()),
        "gap_steps": gaps.steps,
        "gap_clips": gaps.clips,
        "length_quantiles": [int(value) for value in quantiles],
    }


def _histogram(task: Task, labels: Labels) -> dict[str, int]:
    """Clips of each class, or of each of a few equal ranges."""
    if isinstance(task, Classification):
        counts = np.bincount(labels, minlength=len(task.classes))
        return {name: int(count) for name, count in zip(task.classes, counts, strict=True)}
    bounded = np.isfinite([task.low, task.high]).all()
    span = (task.low, task.high) if bounded else (float(labels.min()), float(labels.max()))
    counts, edges = np.histogram(labels, bins=HISTOGRAM_BINS, range=span)
    return {
        f"{low:.3g}..{high:.3g}": int(count)
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    }


def _floor(dataset: Dataset, labels: Labels) -> dict[str, float | None]:
    """The constant predictor learned on train, or on the split itself where there is no train."""
    train = dataset.splits.get("train")
    reference = train.labels if train is not None and train.labels is not None else labels
    metrics = constant_floor(dataset.task, reference, labels)
    return {
        name: None if np.isnan(value) else value
        for name, value in metrics.items()
        if "/" not in name
    }


def _constant_features(dataset: Dataset, name: str) -> list[int]:
    """Features that never change in the training split (or the first one there is)."""
    split = dataset.splits.get("train") or next(iter(dataset.splits.values()))
    present = [steps for steps in split.sequences[name] if steps is not None]
    if name in split.gapped:
        present = [steps[observed_in(steps)] for steps in present]
    if not present:
        return []
    first = present[0][0]
    varies = np.zeros(dataset.dims[name], dtype=bool)
    for steps in present:
        varies |= (steps != first).any(axis=0)
    return [int(index) for index in np.flatnonzero(~varies)]
