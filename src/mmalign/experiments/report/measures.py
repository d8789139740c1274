"""Metrics as they stand in a table: their titles, their direction and their digits."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measure:
    """How a metric is shown.

    Attributes:
        key: Its name in a result.
        title: Its name in a table.
        is_higher_better: Which way is up.
        scale: What its values are multiplied with: 100 for shares.
        digits: Decimals.
    """

    key: str
    title: str
    is_higher_better: bool = True
    scale: float = 100.0
    digits: int = 1

    @property
    def heading(self) -> str:
        """Title and direction, as the paper prints them."""
        return f"{self.title} {'↑' if self.is_higher_better else '↓'}"

    def show(self, value: float) -> str:
        """A value."""
        return "–" if math.isnan(value) else f"{self.scale * value:.{self.digits}f}"

    def show_change(self, value: float) -> str:
        """A difference, with its sign."""
        if math.isnan(value):
            return "–"
        text = f"{self.scale * value:+.{self.digits}f}"
        return text[1:] if float(text) == 0 else text.replace("-", "−")

    def is_better(self, first: float, second: float) -> bool:
        """Whether the first value is the better one."""
        return first > second if self.is_higher_better else first < second


REGRESSION = (
    Measure("mae", "MAE", is_higher_better=False, scale=1.0, digits=3),
    Measure("acc2", "Acc-2"),
    Measure("f1", "F1"),
    Measure("r", "Pearson r", scale=1.0, digits=3),
    Measure("acc2_with_zero", "Acc-2 with zero"),
    Measure("acc7", "Acc-7"),
)
CLASSIFICATION = (
    Measure("weighted_f1", "Weighted F1"),
    Measure("accuracy", "Accuracy"),
    Measure("macro_f1", "Macro F1"),
)
IN_MAIN_TABLE = 2
"""So many metrics stand in the main tables; the first decides."""


def percent(share: float) -> str:
    """A share as people write it.

    >>> percent(0.1), percent(0.125)
    ('10 %', '12.5 %')
    """
    return f"{100 * share:.4g} %"


def measures_of(task: Mapping[str, Any]) -> tuple[Measure, ...]:
    """The task's metrics, the paper's first."""
    return CLASSIFICATION if task.get("kind") == "classification" else REGRESSION
