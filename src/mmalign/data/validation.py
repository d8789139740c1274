"""Conditions that every dataset must meet, whatever file it came from."""

from collections.abc import Mapping

import numpy as np

from mmalign.data.columns import first_misfit
from mmalign.data.dataset import Dataset
from mmalign.data.names import check_names
from mmalign.data.split import Split
from mmalign.data.split_names import SPLITS
from mmalign.data.task import LARGEST_LABEL, Classification
from mmalign.errors import DataError, located


def validate(dataset: Dataset) -> Dataset:
    """Return the dataset if it is sound; feature values are `non_finite`'s business.

    Raises:
        DataError: If a split is empty or unknown, an id appears twice, a sequence has no steps
            or the wrong dim, a clip has no modality at all, or a label is out of range.
    """
    if not dataset.splits:
        raise DataError("no splits", fix=f"Expected some of {', '.join(SPLITS)}.")
    if not dataset.dims:
        raise DataError("no modalities", fix="Give each clip a sequence of one or more.")
    check_names("modality", dataset.dims)
    if isinstance(dataset.task, Classification):
        check_names("class", dataset.task.classes)
    owner: dict[str, str] = {}
    for name, split in dataset.splits.items():
        with located(split=name):
            _validate_split(name, split)
            _validate_features(split, dataset.dims)
            _validate_labels(split, dataset)
            check_names("id", split.ids)
            check_names("group", split.groups or ())
            _claim_ids(name, split, owner)
    return dataset


def _validate_split(name: str, split: Split) -> None:
    if name not in SPLITS:
        raise DataError(f"unknown split {name!r}", fix=f"Expected {', '.join(SPLITS)}.")
    if len(split) == 0:
        raise DataError("the split is empty", fix="Leave it out, or give it clips.")


def _validate_features(split: Split, dims: Mapping[str, int]) -> None:
    for name, column in split.sequences.items():
        misfit = first_misfit(column, dims[name])
        if misfit is not None:
            row, shape = misfit
            is_empty = len(shape) == 2 and shape[1] == dims[name]
            other = f"expected [time, {dims[name]}], got {list(shape)}"
            raise DataError(
                "the sequence has no steps" if is_empty else other,
                clip=split.ids[row],
                modality=name,
                fix="Store a missing modality as null, and leave out clips that are empty."
                if is_empty
                else "All clips share one feature dimension per modality.",
            )
    is_present = split.has_any(split.sequences)
    if not is_present.all():
        raise DataError(
            "every modality is missing",
            clip=split.ids[int(is_present.argmin())],
            fix="Leave the clip out: at least one modality must stay.",
        )


def _validate_labels(split: Split, dataset: Dataset) -> None:
    if split.labels is None:
        return
    task, labels = dataset.task, split.labels
    if isinstance(task, Classification):
        is_bad = (labels < 0) | (labels >= len(task.classes))
    else:
        is_bad = ~((labels >= task.low) & (labels <= task.high) & (abs(labels) <= LARGEST_LABEL))
    if is_bad.any():
        first = int(np.argmax(is_bad))
        with located(clip=split.ids[first]):
            task.encode(labels[first].item())


def _claim_ids(name: str, split: Split, owner: dict[str, str]) -> None:
    for clip_id in split.ids:
        if not clip_id:
            raise DataError("a clip has an empty id", fix="Give each clip a name of its own.")
        if clip_id in owner:
            other = owner[clip_id]
            where = "twice" if other == name else f"in {other} as well"
            raise DataError(
                f"the id appears {where}", clip=clip_id, fix="Ids must be unique over all splits."
            )
        owner[clip_id] = name
