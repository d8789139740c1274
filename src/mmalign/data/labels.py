"""Labels: which task they suggest, and how a task stores them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Shaped

from mmalign.data.names import check_names
from mmalign.data.task import Classification, Label, Labels, Regression, Task
from mmalign.errors import DataError, located

MAX_CLASSES = 10_000

Numbers = Shaped[np.ndarray, " _"]
LabelColumn = Sequence[str] | Numbers
"""Labels as a file stores them: all of them names, or all of them numbers."""


def suggested_task(labels: Sequence[Label]) -> Task:
    """Suggest classes for names and integers, a number for the rest.

    An integer is the index of a class, here as everywhere.

    Raises:
        DataError: If there are both names and numbers, or integers that cannot be indices.

    >>> suggested_task(["run", "walk", "run"])
    Classification(classes=('run', 'walk'))
    >>> suggested_task([0.5, 2])
    Regression(low=-inf, high=inf)
    """
    kinds = {type(label) for label in labels}
    if kinds == {str}:
        return _named(sorted(set(map(str, labels))))
    if str in kinds:
        raise DataError(
            "some labels are names and some are numbers", fix="Give all clips the same kind."
        )
    if kinds == {bool}:
        return Classification(("False", "True"), bool)
    if kinds and kinds <= {int, bool}:
        return _counted(min(map(int, labels)), max(map(int, labels)))
    return Regression()


def task_of_column(values: LabelColumn) -> Task:
    """Suggest the task of labels in a file, where integers need not count from 0.

    Those that could be indices are; others, such as -1 and 1, are classes named by their value.

    Raises:
        DataError: If there are fewer than two classes, or absurdly many.
    """
    if not isinstance(values, np.ndarray):
        return suggested_task(list(values))
    if values.dtype.kind == "f":
        return Regression()
    present = np.unique(values.astype(np.int64))
    is_index = len(present) and present[0] == 0 and present[-1] < max(2 * len(present), 20)
    return suggested_task(present.tolist()) if is_index else _named(list(map(str, present)), int)


def pick(column: LabelColumn, rows: Sequence[int]) -> LabelColumn:
    """The labels at these rows, in this order."""
    return column[rows] if isinstance(column, np.ndarray) else [column[row] for row in rows]


def encode_labels(
    ids: Sequence[str], labels: Sequence[Label | None] | Numbers, task: Task
) -> Labels:
    """Encode labels as the task stores them.

    Raises:
        DataError: If a clip has no label, or one that does not fit the task.
    """
    items = _as_written(labels, task) if isinstance(labels, np.ndarray) else labels
    encoded = np.empty(len(items), dtype=task.dtype)
    for index, (clip_id, label) in enumerate(zip(ids, items, strict=True)):
        with located(clip=clip_id):
            if label is None:
                raise DataError(
                    "no label, though other clips have one", fix="Label it, or leave the clip out."
                )
            encoded[index] = task.encode(label)
    return encoded


def _as_written(values: Numbers, task: Task) -> list[Any]:
    """Numbers; names of classes for integers, where the classes are called by such names."""
    numbers: list[Any] = values.tolist()
    if not isinstance(task, Classification) or values.dtype.kind not in "iub":
        return numbers
    if task.classes == tuple(map(str, range(len(task.classes)))):
        return numbers
    names = [str(int(number)) for number in numbers]
    return names if set(names) <= set(task.classes) else numbers


def _counted(least: int, most: int) -> Classification:
    if least < 0 or most >= MAX_CLASSES:
        raise DataError(
            f"integer labels are indices of classes, from 0; got {least if least < 0 else most}",
            fix="Give classes by name, e.g. 'no' and 'yes', and numbers to predict as floats.",
        )
    return Classification(tuple(map(str, range(max(2, most + 1)))), int)


def _named(
    names: Sequence[str], given_as: type[str] | type[int] | type[bool] = str
) -> Classification:
    if len(names) > MAX_CLASSES:
        raise DataError(
            f"{len(names)} different labels",
            fix="Store numbers to be predicted as floats, and classes as integers or names.",
        )
    check_names("class", names)
    return Classification(tuple(names), given_as)
