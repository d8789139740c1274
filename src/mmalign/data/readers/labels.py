"""Which label to take, and which task it makes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Shaped

from mmalign.data.task import Classification, Labels, Regression, Task
from mmalign.errors import DataError

SENTIMENT = Regression(-3.0, 3.0)
EMOTION = Regression(0.0, 3.0)
MOSEI_COLUMNS = ("sentiment", "happy", "sad", "anger", "surprise", "disgust", "fear")
MAX_CLASSES = 10_000

Numbers = Shaped[np.ndarray, " _"]


@dataclass(frozen=True)
class ChosenColumn:
    """One of several label columns."""

    index: int
    task: Task
    notes: tuple[str, ...] = ()


def choose_column(columns: int, wanted: str | None) -> ChosenColumn:
    """The label column that the user wants, sentiment by default.

    Raises:
        DataError: If there is no such column.
    """
    names = MOSEI_COLUMNS[:1] if columns == 1 else tuple(map(str, range(columns)))
    if columns == len(MOSEI_COLUMNS):
        names = MOSEI_COLUMNS
    chosen = wanted or names[0]
    if chosen not in names:
        raise DataError(
            f"there is no label {chosen!r}", fix=f"This file has {', '.join(names)}: --label NAME."
        )
    index = names.index(chosen)
    if columns == 1:
        return ChosenColumn(0, SENTIMENT)
    note = f"label: took {chosen!r} of {', '.join(names)}; choose another with --label NAME"
    task = SENTIMENT if index == 0 else EMOTION if names == MOSEI_COLUMNS else Regression()
    return ChosenColumn(index, task, (note,))


def choose_name(names: Sequence[str], wanted: str) -> str:
    """The wanted name, whole or as an ending or beginning that is unique.

    Raises:
        DataError: If no name fits, or several do.
    """
    if wanted in names:
        return wanted
    fits = [n for n in names if n.lower().startswith(wanted.lower())]
    fits = fits or [n for n in names if n.lower().endswith(wanted.lower())]
    if len(fits) != 1:
        raise DataError(f"there is no label {wanted!r}", fix=f"This file has {', '.join(names)}.")
    return fits[0]


def infer_task(values: Sequence[str] | Numbers, classes: Sequence[str] = ()) -> Task:
    """Classes for texts and integers, a number for the rest.

    Integers that count from 0 keep their value as index; others are named by their value.

    Raises:
        DataError: If there are fewer than two classes, or absurdly many.
    """
    if classes:
        return Classification(tuple(classes))
    if not isinstance(values, np.ndarray):
        return _classification(sorted(set(values)))
    if values.dtype.kind == "f":
        return Regression()
    present = np.unique(values.astype(np.int64))
    if len(present) and present[0] == 0 and _is_dense(present):
        return _classification(list(map(str, range(max(2, int(present[-1]) + 1)))))
    return _classification([str(value) for value in present.tolist()])


def encode_labels(values: Sequence[str] | Numbers, task: Task, ids: Sequence[str]) -> Labels:
    """Labels as the task stores them.

    Raises:
        DataError: If a label does not fit the task.
    """
    if isinstance(task, Classification) and isinstance(values, np.ndarray):
        is_index = values.dtype.kind in "iub" and task.classes == _counted(len(task.classes))
        items: Sequence[Any] = values.tolist() if is_index else _named(values, task)
    else:
        items = values.tolist() if isinstance(values, np.ndarray) else values
    encoded = np.empty(len(items), dtype=task.dtype)
    for index, item in enumerate(items):
        try:
            encoded[index] = task.encode(item)
        except DataError as error:
            raise error.located(clip=ids[index]) from None
    return encoded


def _named(values: Numbers, task: Classification) -> list[Any]:
    """Names of classes for integer labels; indices where the classes have names of their own."""
    numbers: list[Any] = values.tolist()
    names = [str(int(n)) for n in numbers] if values.dtype.kind != "f" else [""]
    return names if set(names) <= set(task.classes) else numbers


def _is_dense(present: Numbers) -> bool:
    return bool(present[-1] < max(2 * len(present), 20))


def _counted(size: int) -> tuple[str, ...]:
    return tuple(map(str, range(size)))


def _classification(names: Sequence[str]) -> Classification:
    if len(names) > MAX_CLASSES:
        raise DataError(
            f"{len(names)} different labels",
            fix="Store numbers to be predicted as floats, and classes as integers or names.",
        )
    return Classification(tuple(names))
