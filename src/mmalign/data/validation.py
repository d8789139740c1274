"""What every dataset must satisfy, whatever file it came from."""

from collections.abc import Mapping

import numpy as np

from mmalign.data.clip import Clip
from mmalign.data.columns import StoredColumn
from mmalign.data.dataset import SPLITS, Dataset
from mmalign.data.split import Split
from mmalign.data.task import Classification
from mmalign.errors import DataError


def validate(dataset: Dataset) -> Dataset:
    """Return the dataset if it is sound; feature values are `non_finite`'s business.

    Raises:
        DataError: If a split is empty or unknown, an id appears twice, a sequence has no steps
            or the wrong dim, a clip has no modality at all, or a label is out of range.
    """
    if not dataset.splits:
        raise DataError("no splits", fix=f"Expected some of {', '.join(SPLITS)}.")
    if not dataset.dims:
        raise DataError("no modalities")
    owner: dict[str, str] = {}
    for name, split in dataset.splits.items():
        try:
            _validate_split(name, split, dataset.dims)
            _validate_labels(split, dataset)
            _claim_ids(name, split, owner)
        except DataError as error:
            raise error.located(split=name) from None
    return dataset


def _validate_split(name: str, split: Split, dims: Mapping[str, int]) -> None:
    if name not in SPLITS:
        raise DataError(f"unknown split {name!r}", fix=f"Expected {', '.join(SPLITS)}.")
    if len(split) == 0:
        raise DataError("the split is empty", fix="Leave it out, or give it clips.")
    if not _is_stored_soundly(split, dims):
        for clip in split:
            _validate_clip(clip, dims)


def _is_stored_soundly(split: Split, dims: Mapping[str, int]) -> bool:
    """Whether columns of a file tell, without a look at any clip, that all clips are sound."""
    has_steps = np.zeros(len(split), dtype=bool)
    for name, column in split.sequences.items():
        if not isinstance(column, StoredColumn) or column.dim != dims[name]:
            return False
        has_steps |= column.lengths > 0
    return bool(has_steps.all())


def _validate_clip(clip: Clip, dims: Mapping[str, int]) -> None:
    if all(clip.is_missing(name) for name in dims):
        raise DataError(
            "every modality is missing",
            clip=clip.id,
            fix="Leave the clip out: at least one modality must stay.",
        )
    for name, steps in clip.sequences.items():
        if steps is None:
            continue
        if steps.ndim != 2 or steps.shape[1] != dims[name]:
            raise DataError(
                f"expected [time, {dims[name]}], got {list(steps.shape)}",
                clip=clip.id,
                modality=name,
                fix="All clips share one feature dimension per modality.",
            )
        if len(steps) == 0:
            raise DataError(
                "the sequence has no steps",
                clip=clip.id,
                modality=name,
                fix="Store a missing modality as null, and leave out clips that are empty.",
            )


def _validate_labels(split: Split, dataset: Dataset) -> None:
    if split.labels is None:
        return
    task, labels = dataset.task, split.labels
    if isinstance(task, Classification):
        is_bad = (labels < 0) | (labels >= len(task.classes))
    else:
        is_bad = ~(np.isfinite(labels) & (labels >= task.low) & (labels <= task.high))
    if is_bad.any():
        first = int(np.argmax(is_bad))
        try:
            task.encode(labels[first].item())
        except DataError as error:
            raise error.located(clip=split.ids[first]) from None


def _claim_ids(name: str, split: Split, owner: dict[str, str]) -> None:
    for clip_id in split.ids:
        if not clip_id:
            raise DataError("a clip has an empty id")
        if clip_id in owner:
            other = owner[clip_id]
            where = "twice" if other == name else f"in {other} as well"
            raise DataError(
                f"the id appears {where}", clip=clip_id, fix="Ids must be unique over all splits."
            )
        owner[clip_id] = name
