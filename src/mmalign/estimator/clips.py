"""Clips on their way into a training: their modalities, labels and widths, and validation clips."""

from collections.abc import Sequence

import numpy as np

from mmalign.data.clip import Clip
from mmalign.data.grouping import Groups, group_names
from mmalign.data.intake import Clips, gathered, modalities_in, taught
from mmalign.data.missingness import surviving_ids
from mmalign.data.spelling import require_known
from mmalign.data.split import Split
from mmalign.data.task import Task
from mmalign.errors import DataError, located, no_modality

VALIDATION_SHARE = 0.15


def modality_problems(modalities: Sequence[str] | None) -> list[str]:
    """What is wrong with a choice of modalities, without a look at clips."""
    if isinstance(modalities, str):
        return [f"modalities must be a list of names, got {modalities!r}"]
    if modalities is not None and not 0 < len(modalities) == len(set(modalities)):
        return [f"modalities must be one or more different names, got {list(modalities)}"]
    return []


def require_modalities(rows: Split | list[Clip], modalities: Sequence[str]) -> None:
    """Check that the chosen modalities are in the clips.

    Raises:
        DataError: If one of them is not.
    """
    known = modalities_in(rows)
    for name in modalities:
        if name not in known:
            raise no_modality(name, known)


def labelled_split(name: str, clips: Clips, modalities: list[str], task: Task) -> Split:
    """The clips with labels in the terms of the task; errors name the split.

    Raises:
        DataError: If a clip has no label, one that is not the task's, or a misspelt modality.
    """
    with located(split=name):
        rows = gathered(clips)
        require_known(rows, modalities)
        return taught(rows, modalities, task)


def first_width(split: Split, modality: str) -> int:
    """Features of the modality's first sequence.

    Raises:
        DataError: If no clip has it.
    """
    for steps in split.sequences[modality]:
        if steps is not None:
            return int(steps.shape[1])
    raise DataError(
        "no training clip has the modality", modality=modality, fix="Give some that have it."
    )


def set_aside(train: Split, seed: int, groups: Groups | None = None) -> tuple[Split, Split]:
    """Training and validation clips, chosen by a hash of their ids, or of their groups.

    The ids are salted: a protocol's survivors, drawn by the same hash, would all be chosen.

    Raises:
        DataError: If there is one unit alone.
    """
    salted = [f"validation:{unit}" for unit in _whole_units(train, groups)]
    units = list(dict.fromkeys(salted))
    if len(units) < 2:
        raise DataError(
            "there is nothing to set aside for validation",
            fix="Give valid=…, or clips of two groups or more.",
        )
    count = max(1, int(VALIDATION_SHARE * len(units)))
    chosen = surviving_ids(units, count=count, seed=seed)
    is_valid = np.array([unit in chosen for unit in salted])
    return train.select(np.flatnonzero(~is_valid)), train.select(np.flatnonzero(is_valid))


def _whole_units(train: Split, groups: Groups | None) -> Sequence[str]:
    """What is set aside as a whole, clip by clip: groups where there are several, or the clip."""
    if groups is not None:
        return group_names(groups, train.ids)
    return train.groups if train.groups and len(set(train.groups)) > 1 else train.ids
