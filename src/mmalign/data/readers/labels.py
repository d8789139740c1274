"""Which of a file's labels to take."""

from collections.abc import Sequence
from dataclasses import dataclass

from mmalign.data.task import Regression, Task
from mmalign.errors import DataError

SENTIMENT = Regression(-3.0, 3.0)
EMOTION = Regression(0.0, 3.0)
MOSEI_COLUMNS = ("sentiment", "happy", "sad", "anger", "surprise", "disgust", "fear")


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
