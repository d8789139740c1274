"""How sure is a difference? What it would be with other seeds and other test clips like these."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from mmalign.data.task import Classification, Labels, Task

Errors = Float64[np.ndarray, "seeds clips"]
DRAWS = 2000
DIGITS = 6
"""Of the errors of numbers, so that a result stays small."""


@dataclass(frozen=True)
class Interval:
    """A mean, and its 95 % interval: where the means of other seeds, or other clips, would lie."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether it leaves out 0."""
        return self.low > 0 or self.high < 0


def clip_errors(task: Task, predictions: Labels, labels: Labels) -> list[float]:
    """The error of each clip: 0 or 1 for classes, the distance for numbers.

    Their mean is 1 - accuracy, or the mean absolute error.

    >>> import numpy as np
    >>> clip_errors(Classification(("a", "b")), np.array([0, 1]), np.array([0, 0]))
    [0, 1]
    """
    if isinstance(task, Classification):
        wrong: list[float] = (predictions != labels).astype(np.int64).tolist()
        return wrong
    distances = np.abs(predictions.astype(np.float64) - labels.astype(np.float64))
    return [round(distance, DIGITS) for distance in distances.tolist()]


def redrawn_difference(first: Errors, second: Errors) -> Interval:
    """Mean of first minus second, with a bootstrap interval over seeds and clips.

    Both are of the same seeds and clips: a draw takes clips, and seeds, for both alike. It always
    draws the same ones, so that a report has the same bytes again.
    """
    changes = first - second
    seeds, clips = changes.shape
    generator = np.random.default_rng(0)
    drawn_seeds = generator.multinomial(seeds, np.full(seeds, 1 / seeds), DRAWS)
    drawn_clips = generator.multinomial(clips, np.full(clips, 1 / clips), DRAWS)
    means = ((drawn_seeds @ changes) * drawn_clips).sum(axis=1) / (seeds * clips)
    low, high = np.quantile(means, (0.025, 0.975))
    return Interval(float(changes.mean()), float(low), float(high))
