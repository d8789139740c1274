"""Tasks: predict a number or a class."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from mmalign.errors import DataError

LARGEST_LABEL = 1e18
"""Losses square labels, and float32 ends at 3e38."""

Label = float | int | str
Labels = Float32[np.ndarray, " _"] | Int64[np.ndarray, " _"]


@dataclass(frozen=True)
class Regression:
    """A real-valued label, inside [low, high] where the corpus defines a range."""

    low: float = -math.inf
    high: float = math.inf

    def encode(self, label: Label) -> np.float32:
        """The label as it is stored.

        Raises:
            DataError: If the label is not a finite number inside the range.
        """
        try:
            with np.errstate(over="ignore"):
                value = np.float32(label)
        except (TypeError, ValueError, OverflowError) as error:
            raise DataError(
                f"label {label!r} is not a number", fix="Correct the label, or leave the clip out."
            ) from error
        if not (np.isfinite(value) and self.low <= value <= self.high):
            raise DataError(
                f"label {label} is outside {self.low:g}..{self.high:g}",
                fix="Correct the label, or leave the clip out.",
            )
        if abs(value) > LARGEST_LABEL:
            raise DataError(
                f"label {label} is too large to learn from",
                fix=f"Give labels in larger units, below {LARGEST_LABEL:g}.",
            )
        return value

    @property
    def outputs(self) -> int:
        """Numbers that a model answers with."""
        return 1

    @property
    def dtype(self) -> type[np.float32]:
        """Type of a label in memory and on disk."""
        return np.float32


@dataclass(frozen=True)
class Classification:
    """One of several named classes; labels are indices into `classes`."""

    classes: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.classes) < 2 or len(set(self.classes)) != len(self.classes):
            raise DataError(
                f"need two or more different class names, got {list(self.classes)}",
                fix="Give clips of two classes or more, or numbers to predict as floats.",
            )

    def encode(self, label: Label) -> np.int64:
        """The label, an index or a class name, as it is stored.

        Raises:
            DataError: If there is no such class.
        """
        if isinstance(label, str):
            if label not in self.classes:
                raise DataError(
                    f"label {label!r} is none of {', '.join(self.classes)}",
                    fix="Correct the label, or leave the clip out.",
                )
            return np.int64(self.classes.index(label))
        if not 0 <= label < len(self.classes) or int(label) != label:
            raise DataError(
                f"label {label} is outside 0..{len(self.classes) - 1}",
                fix=f"Classes count from 0; this task has {len(self.classes)}.",
            )
        return np.int64(label)

    @property
    def outputs(self) -> int:
        """Numbers that a model answers with: one a class."""
        return len(self.classes)

    @property
    def dtype(self) -> type[np.int64]:
        """Type of a label in memory and on disk."""
        return np.int64


Task = Regression | Classification


def task_to_json(task: Task) -> dict[str, Any]:
    """A plain description that `task_from_json` turns back into the task."""
    if isinstance(task, Classification):
        return {"kind": "classification", "classes": list(task.classes)}
    bounds = {"low": task.low, "high": task.high}
    return {"kind": "regression"} | {k: v for k, v in bounds.items() if math.isfinite(v)}


def task_from_json(description: dict[str, Any]) -> Task:
    """The task that `task_to_json` described.

    Raises:
        DataError: If the description is of no known kind.
    """
    match description:
        case {"kind": "classification", "classes": list(classes)}:
            return Classification(tuple(map(str, classes)))
        case {"kind": "regression", **bounds}:
            return Regression(**{name: float(value) for name, value in bounds.items()})
    raise DataError(f"unknown task {description!r}", fix="Expected regression or classification.")
