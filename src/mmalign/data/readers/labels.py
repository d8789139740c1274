"""Which of a file's labels to take."""

from collections.abc import Mapping, Sequence

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.labels import task_of_column
from mmalign.data.task import Regression, Task
from mmalign.errors import DataError

SENTIMENT = Regression(-3.0, 3.0)
EMOTION = Regression(0.0, 3.0)
MOSEI_COLUMNS = ("sentiment", "happy", "sad", "anger", "surprise", "disgust", "fear")

Chosen = tuple[dict[str, Array], Task, tuple[str, ...]]
"""Labels of each split, their task, and what the user should know about the choice."""


def choose_labels(tables: Mapping[str, Array], wanted: str | None) -> Chosen:
    """Take the column that the user wants, sentiment by default; integers are classes.

    Args:
        tables: Labels `[clips, columns]` of each split.
        wanted: Name of a column.

    Raises:
        DataError: If splits disagree on the columns, or there is no such column.
    """
    counts = {table.shape[1] for table in tables.values()}
    if len(counts) != 1:
        raise DataError(
            f"clips have different numbers of labels: {sorted(counts)[:5]}",
            fix="Store as many labels with every clip.",
        )
    columns = counts.pop()
    names = MOSEI_COLUMNS[:1] if columns == 1 else tuple(map(str, range(columns)))
    if columns == len(MOSEI_COLUMNS):
        names = MOSEI_COLUMNS
    chosen = wanted or names[0]
    if chosen not in names:
        raise DataError(
            f"there is no label {chosen!r}", fix=f"This file has {', '.join(names)}: --label NAME."
        )
    index = names.index(chosen)
    values = {name: table[:, index] for name, table in tables.items()}
    every = np.concatenate(list(values.values()))
    task: Task = SENTIMENT if index == 0 else EMOTION if names == MOSEI_COLUMNS else Regression()
    if every.dtype.kind in "iub":
        task = task_of_column(every)
    note = f"label: took {chosen!r} of {', '.join(names)}; choose another with --label NAME"
    return values, task, (note,) if columns > 1 else ()


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


def choose_candidate(candidates: Sequence[str]) -> str | None:
    """The only name that could be the label's; None if there is none.

    Raises:
        DataError: If several could be.
    """
    if len(candidates) > 1:
        raise DataError(
            f"any of {', '.join(candidates)} could be the label",
            fix="Choose one with --label NAME, or call it `label`.",
        )
    return candidates[0] if candidates else None
