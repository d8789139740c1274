"""Numbers of a table from the scores of seeds: means, paired differences, recovered gaps."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmalign.evaluation.significance import PairedDifference, gap_recovered, paired_difference
from mmalign.experiments.report.measures import Measure
from mmalign.experiments.report.runs import OWN, Condition, Runs, Seeds

FEWEST_SEEDS = 2
"""With fewer there is no spread, and no paired test."""

ONE_SIDED = 0.025
"""How often the 95 % interval of two equals lies above 0; and as often below."""


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation over seeds; the latter is NaN for one seed."""

    mean: float
    sd: float
    seeds: int


def summarise(scores: Seeds) -> Summary:
    """Mean and spread; NaN where there is nothing.

    >>> summarise({0: 1.0, 1: 3.0})
    Summary(mean=2.0, sd=1.4142135623730951, seeds=2)
    """
    values = np.array(list(scores.values()))
    mean = float(values.mean()) if len(values) else math.nan
    sd = float(values.std(ddof=1)) if len(values) >= FEWEST_SEEDS else math.nan
    return Summary(mean, sd, len(values))


def mean_interval(scores: Seeds) -> tuple[float, float]:
    """95 % interval of the mean (t); NaN for fewer than two seeds."""
    # The interval of a mean is that of a difference from nothing.
    around = difference(scores, dict.fromkeys(scores, 0.0))
    return (math.nan, math.nan) if around is None else (around.low, around.high)


def difference(first: Seeds, second: Seeds) -> PairedDifference | None:
    """First minus second over the seeds that both have; None if they share fewer than two."""
    shared = [seed for seed in first if seed in second]
    if len(shared) < FEWEST_SEEDS:
        return None
    return paired_difference([first[s] for s in shared], [second[s] for s in shared])


def verdict(found: PairedDifference | None, measure: Measure) -> int:
    """1 if the first is clearly better, -1 if it is clearly worse, 0 if nothing is clear."""
    if found is None or not found.is_clear:
        return 0
    return 1 if measure.is_better(found.mean, 0.0) else -1


@dataclass(frozen=True)
class Count:
    """How many comparisons there are, and how many of them are clear."""

    comparisons: int
    better: int
    worse: int

    @property
    def by_chance(self) -> float:
        """How many would be clearly better, and as many clearly worse, among equals."""
        return ONE_SIDED * self.comparisons


def count_clear(verdicts: Iterable[int]) -> Count:
    """Count verdicts, one a comparison that could be tested.

    >>> count_clear([1, 0, -1, 0, 0, -1])
    Count(comparisons=6, better=1, worse=2)
    """
    found = list(verdicts)
    return Count(len(found), found.count(1), found.count(-1))


@dataclass(frozen=True)
class Gap:
    """Share of the way from the lower to the upper bound.

    Attributes:
        share: 0 is as good as LB, 1 as good as UB; NaN where a bound is missing.
        is_real: Whether UB is clearly better than LB; if not, there is no gap to speak of.
    """

    share: float
    is_real: bool


def recovered_gap(scores: Seeds, lower: Seeds, upper: Seeds, measure: Measure) -> Gap:
    """The gap that the means recover, over the seeds that all three have.

    A ratio of means, not a mean of ratios: a seed whose bounds happen to be close would rule that.
    """
    shared = [seed for seed in scores if seed in lower and seed in upper]
    if not shared:
        return Gap(math.nan, False)
    method, low, high = (
        float(np.mean([values[seed] for seed in shared])) for values in (scores, lower, upper)
    )
    return Gap(gap_recovered(method, low, high), verdict(difference(upper, lower), measure) > 0)


def best(summaries: Mapping[str, Summary], measure: Measure) -> str | None:
    """The system with the best mean."""
    known = {name: s.mean for name, s in summaries.items() if not math.isnan(s.mean)}
    choose = max if measure.is_higher_better else min
    return choose(known, key=lambda name: known[name]) if known else None


@dataclass(frozen=True)
class Panel:
    """A suite under one condition: the systems and scores that a table shows."""

    runs: Runs
    suite: str
    condition: Condition

    @cached_property
    def systems(self) -> list[str]:
        """Systems that are planned here, in the usual order."""
        return self.runs.systems(self.suite, self.condition)

    @cached_property
    def seeds(self) -> int:
        """How many seeds are planned."""
        return len(self.runs.seeds(self.suite))

    def has(self, system: str) -> bool:
        """Whether a run of the system is finished."""
        return (self.suite, self.condition, system) in self.runs.by_place

    def scores(self, system: str, setting: str, measure: Measure, plan: str = OWN) -> Seeds:
        """A metric of every finished seed; seeds whose metric is undefined are left out."""
        found = {}
        for run in self.runs.by_place.get((self.suite, self.condition, system), ()):
            value = run.scores.get((setting, plan), {}).get(measure.key)
            if value is not None:
                found[run.seed] = float(value)
        return found

    def difference(
        self, system: str, reference: str, setting: str, measure: Measure
    ) -> PairedDifference | None:
        """System minus reference; None if they share fewer than two seeds."""
        first, second = (self.scores(name, setting, measure) for name in (system, reference))
        return difference(first, second)
