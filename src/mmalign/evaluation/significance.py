"""Is one method better than another? Paired over seeds, as the paper tests it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mmalign.errors import ConfigError
from mmalign.evaluation.redrawing import Interval


@dataclass(frozen=True)
class PairedDifference(Interval):
    """Mean of first minus second over paired seeds, its 95 % interval, and the paired t-test.

    Attributes:
        p_value: Two-sided; how likely so large a difference is if there is none.
        pairs: Number of seeds.
    """

    p_value: float
    pairs: int


def paired_difference(first: Sequence[float], second: Sequence[float]) -> PairedDifference:
    """Compare two methods over the same seeds, in the same order.

    Raises:
        ConfigError: If the numbers of seeds differ, or there are fewer than two.

    >>> paired_difference([3.0, 4.0, 6.0], [1.0, 2.0, 3.0]).mean
    2.3333333333333335
    """
    from scipy import stats

    if len(first) != len(second):
        raise ConfigError(f"{len(first)} seeds against {len(second)}; pair them one to one")
    if len(first) < 2:
        raise ConfigError(f"a paired test needs two seeds or more, got {len(first)}")
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    if error == 0:
        return PairedDifference(mean, mean, mean, 1.0 if mean == 0 else 0.0, len(differences))
    freedom = len(differences) - 1
    reach = float(stats.t.ppf(0.975, freedom)) * error
    p_value = float(2 * stats.t.sf(abs(mean) / error, freedom))
    return PairedDifference(mean, mean - reach, mean + reach, p_value, len(differences))


def gap_recovered(method: float, lower: float, upper: float) -> float:
    """(method - LB) / (UB - LB): 0 is as good as no victim at all, 1 as good as always having it.

    NaN where the bounds are equal: there is no gap to recover.

    >>> gap_recovered(0.75, 0.5, 1.0)
    0.5
    """
    return float("nan") if upper == lower else (method - lower) / (upper - lower)
