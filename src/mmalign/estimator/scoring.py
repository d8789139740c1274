"""One number for how well answers agree with labels, as scikit-learn counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mmalign.data.task import Classification, Label, Labels, Task
from mmalign.errors import DataError


def agreement(task: Task, answers: Labels, written: Sequence[Label | None]) -> float:
    """Share of right answers; for numbers, the share of variance that is explained (R²).

    A class that the model has never seen counts as a wrong answer: a fold may lack it.

    Raises:
        DataError: If a clip has no label, or no label is one of the model's.

    >>> agreement(Classification(("run", "walk")), np.array([0, 1]), ["run", "swim"])
    0.5
    """
    if not written or None in written:
        raise DataError("a clip has no label", fix="Label it, or leave it out.")
    if isinstance(task, Classification):
        return _accuracy(task, answers, written)
    return _explained(answers.astype(np.float64), np.array(written, np.float64))


def _accuracy(task: Classification, answers: Labels, written: Sequence[Label | None]) -> float:
    names = [_name(task, label) for label in written]
    if not set(names).intersection(task.classes):
        raise DataError(
            f"label {written[0]!r} is none of {', '.join(task.classes)}",
            fix="Give clips that are labelled for the same task.",
        )
    return float(np.mean([task.classes[a] == n for a, n in zip(answers, names, strict=True)]))


def _name(task: Classification, label: Any) -> str | None:
    """The name of a class that is called by name or by index; None for another index."""
    if isinstance(label, str):
        return label
    return task.classes[int(label)] if label in range(len(task.classes)) else None


def _explained(answers: np.ndarray, labels: np.ndarray) -> float:
    variance = float(((labels - labels.mean()) ** 2).sum())
    return 1 - float(((labels - answers) ** 2).sum()) / variance if variance else 0.0
