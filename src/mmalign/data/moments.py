"""Mean and variance of a modality's features, clip by clip: a set may be larger than memory."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from mmalign.data.clip import Steps, StepsColumn
from mmalign.data.gaps import observed_in

Features = Float64[np.ndarray, " dim"]


class Moments(NamedTuple):
    """Mean and population variance of each feature over all steps of all clips."""

    mean: Features
    variance: Features


def moments(column: StepsColumn | Iterator[Steps]) -> Moments | None:
    """Moments over the steps that are there, or None if there are none.

    Each clip's own moments are merged in double precision, after Chan, Golub and LeVeque
    (1979): no large sums are subtracted from one another, and no more than a clip is copied.

    >>> import numpy as np
    >>> moments([np.array([[1.0]], np.float32), None, np.array([[2.0], [6.0]], np.float32)])
    Moments(mean=array([3.]), variance=array([4.66666667]))
    """
    count = 0
    mean = squares = np.zeros(1)
    for steps in column:
        observed = None if steps is None else observed_in(steps)
        if steps is None or observed is None or not observed.any():
            continue
        values = (steps if observed.all() else steps[observed]).astype(np.float64)
        # Ufuncs themselves: the methods of arrays take as long again as a short clip.
        here = np.add.reduce(values, axis=0) / len(values)
        total = count + len(values)
        away = here - mean
        values -= here
        values *= values
        squares = squares + np.add.reduce(values, axis=0)
        squares = squares + away**2 * (count * len(values) / total)
        mean = mean + away * (len(values) / total)
        count = total
    return Moments(mean, squares / count) if count else None
