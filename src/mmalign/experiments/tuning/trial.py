"""A trial of a search: a point, and what became of it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mmalign.experiments.tuning.spaces import Point

Fate = Literal["running", "complete", "diverged", "interrupted"]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A point of the space, and what became of it.

    Attributes:
        number: Trials are counted from 0.
        state: `running`; `complete`; `diverged`: training failed at this point; `interrupted`: its
            process died before it had a point, and it does not count.
        point: The searched settings.
        score: Mean validation score over the seeds, larger is better: weighted F1 or negative MAE;
            NaN for a trial that is not complete.
        loss: Mean validation loss at the selected epochs; it decides between equal scores.
        seconds: How long it took.
        error: Why it diverged.
    """

    number: int
    state: Fate
    point: Point
    score: float = math.nan
    loss: float = math.nan
    seconds: float = math.nan
    error: str = ""

    @property
    def is_finished(self) -> bool:
        """Whether it was tried to its end."""
        return self.state in ("complete", "diverged")

    @property
    def counts(self) -> bool:
        """Whether it takes one of the trials the user asked for."""
        return self.state != "interrupted"


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """Complete trials, best first: by score, then loss, then age."""
    complete = [trial for trial in trials if trial.state == "complete"]
    return sorted(complete, key=lambda trial: (-trial.score, trial.loss, trial.number))
