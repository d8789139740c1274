"""Tasks: predict a number or a class."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64, Shaped

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

    def in_words(self) -> str:
        """What is predicted."""
        return "numbers"

    def named(self, labels: Sequence[Label | None]) -> list[Label | None]:
        """Labels as they are: numbers have no names."""
        return list(labels)

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
    """One of several named classes; labels are indices into `classes`.

    Attributes:
        classes: Their names.
        given_as: What labels were before they were named: names, integers or truth values.

    >>> Classification(("0", "1"), int).as_given().tolist()
    [0, 1]
    """

    classes: tuple[str, ...]
    given_as: type[str] | type[int] | type[bool] = field(default=str, compare=False, repr=False)

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

    def as_given(self) -> Shaped[np.ndarray, " classes"]:
        """The classes as labels were given."""
        if self.given_as is bool:
            return np.array([name == "True" for name in self.classes])
        return np.array([self.given_as(name) for name in self.classes])

    def in_words(self) -> str:
        """What is predicted."""
        few = ", ".join(self.classes[:8]) + (", …" if len(self.classes) > 8 else "")
        return f"{len(self.classes)} classes: {few}"

    def named(self, labels: Sequence[Label | None]) -> list[Label | None]:
        """Labels by name that are written as those were which the classes were made of."""
        return [x if x is None or isinstance(x, float) else str(x) for x in labels]

    @property
    def outputs(self) -> int:
        """Numbers that a model answers with: one a class."""
        return len(self.classes)

    @property
    def dtype(self) -> type[np.int64]:
        """Type of a label in memory and on disk."""
        return np.int64


Task = Regression | Classification

GIVEN = {"str": str, "int": int, "bool": bool}
"""What labels of classes may be, by name."""


def task_to_json(task: Task) -> dict[str, Any]:
    """A plain description that `task_from_json` turns back into the task."""
    if isinstance(task, Classification):
        described = {"kind": "classification", "classes": list(task.classes)}
        return described if task.given_as is str else described | {"given": task.given_as.__name__}
    bounds = {"low": task.low, "high": task.high}
    return {"kind": "regression"} | {k: v for k, v in bounds.items() if math.isfinite(v)}


def task_from_json(description: dict[str, Any]) -> Task:
    """The task that `task_to_json` described.

    Raises:
        DataError: If the description is of no known kind.
    """
    match description:
        case {"kind": "classification", "classes": list(classes)}:
            given_as = GIVEN.get(description.get("given", "str"), str)
            return Classification(tuple(map(str, classes)), given_as)
        case {"kind": "regression", **bounds}:
            return Regression(**{name: float(value) for name, value in bounds.items()})
    raise DataError(f"unknown task {description!r}", fix="Expected regression or classification.")
