"""Scores of every subset of modalities, and how one model stands beside dedicated systems."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmalign.errors import counted
from mmalign.evaluation.redrawing import Interval, redrawn_difference
from mmalign.evaluation.significance import PairedDifference
from mmalign.experiments.report.comparison import best, difference, summarise, verdict
from mmalign.experiments.report.measures import Measure
from mmalign.experiments.report.runs import Metrics, Run, Runs, Seeds
from mmalign.experiments.systems import CANDIDATES, DEDICATED, ONE_MODEL

Subset = tuple[str, ...]


@dataclass(frozen=True)
class Standing:
    """How one model stands beside the best system that was trained for the subset alone.

    Attributes:
        subset: The modalities that are there.
        rival: The best dedicated system.
        gain: Mean of the one model minus that of the rival, positive where it is better.
        verdict: 1 if the one model is clearly better, -1 if it is clearly worse, 0 otherwise.
        change: The difference paired over seeds; None where it cannot be tested.
        redrawn: The difference with its interval over seeds and test clips; None where errors of
            clips are not known.
    """

    subset: Subset
    rival: str
    gain: float
    verdict: int
    change: PairedDifference | None = None
    redrawn: Interval | None = None


@dataclass(frozen=True)
class SuitePanel:
    """What a suite found about some modalities any of which may be missing."""

    runs: Runs
    suite: str
    modalities: Subset

    @cached_property
    def measure(self) -> Measure:
        """What decides: accuracy of classes, otherwise the report's first."""
        found = {measure.key: measure for measure in self.runs.measures}
        first = self.runs.measures[0]
        return first if self.runs.decides else found.get("accuracy", first)

    @cached_property
    def finished(self) -> list[Run]:
        """Runs about these modalities that have a result."""
        return [r for r in self.runs.of(self.suite) if r.entry.job.modalities == self.modalities]


@dataclass(frozen=True)
class SubsetPanel(SuitePanel):
    """What the suite of subsets found about some modalities."""

    @cached_property
    def systems(self) -> list[str]:
        """Systems with a finished run, in the usual order."""
        found = {run.entry.system for run in self.finished}
        return [title for title, _ in CANDIDATES.values() if title in found]

    @property
    def dedicated(self) -> list[str]:
        """Systems that are trained for each subset alone."""
        return [system for system in self.systems if system in DEDICATED]

    @cached_property
    def subsets(self) -> list[Subset]:
        """The subsets that were asked about."""
        return list(dict.fromkeys(s for run in self.finished for s in run.subsets))

    def scores(self, system: str, subset: Subset, measure: Measure) -> Seeds:
        """A metric on test of every finished seed that has it."""
        rows = [
            (run.seed, run.subsets[subset]["metrics"].get(measure.key))
            for run in self.finished
            if run.entry.system == system and subset in run.subsets
        ]
        return {seed: float(value) for seed, value in rows if value is not None}

    def mean(self, system: str, subset: Subset) -> float:
        """The mean over seeds of what decides."""
        return summarise(self.scores(system, subset, self.measure)).mean

    def floor(self, subset: Subset, measure: Measure) -> float:
        """What a constant scores on the clips that have the subset."""
        for run in self.finished:
            found: Metrics = run.subsets.get(subset, {}).get("floor", {})
            value = found.get(measure.key)
            if value is not None:
                return float(value)
        return math.nan

    def difference(self, system: str, rival: str, subset: Subset) -> PairedDifference | None:
        """System minus rival in what decides; None if they share fewer than two seeds."""
        first, second = (self.scores(name, subset, self.measure) for name in (system, rival))
        return difference(first, second)

    def redrawn(self, system: str, rival: str, subset: Subset) -> Interval | None:
        """System minus rival, over seeds and test clips; None where errors of clips say nothing."""
        sign = {"accuracy": -1, "mae": 1}.get(self.measure.key)
        first, second = (self._errors(name, subset) for name in (system, rival))
        shared = [seed for seed in first if seed in second]
        if sign is None or not shared:
            return None
        own, other = (
            sign * np.array([known[seed] for seed in shared], np.float64)
            for known in (first, second)
        )
        return redrawn_difference(own, other)

    def verdict(self, system: str, rival: str, subset: Subset) -> int:
        """1 if the system is clearly better, -1 if it is clearly worse, 0 if nothing is clear.

        Clear is what leaves out 0 over seeds and, where errors of clips are known, also over seeds
        and clips that are drawn anew.
        """
        redrawn = self.redrawn(system, rival, subset)
        if redrawn is not None and not redrawn.is_clear:
            return 0
        return verdict(self.difference(system, rival, subset), self.measure)

    @cached_property
    def over(self) -> str:
        """Over what the comparisons are made, in words."""
        seeds = self.runs.seed_count(self.suite)
        clips = {found["clips"] for run in self.finished for found in run.subsets.values()}
        if not self.is_redrawn:
            return seeds
        many = f"{min(clips)} to {max(clips)} test clips" if len(clips) > 1 else ""
        return f"{seeds}, {many or counted(max(clips), 'test clip')}"

    @cached_property
    def is_redrawn(self) -> bool:
        """Whether errors of clips are known, so that clips can be drawn anew."""
        return any("errors" in found for run in self.finished for found in run.subsets.values())

    def _errors(self, system: str, subset: Subset) -> dict[int, list[float]]:
        """The error of each test clip, by seed; older results have none."""
        return {
            run.seed: run.subsets[subset]["errors"]
            for run in self.finished
            if run.entry.system == system and "errors" in run.subsets.get(subset, {})
        }

    def standings(self) -> list[Standing]:
        """The one model beside the best dedicated system of each subset that has both."""
        found = []
        for subset in self.subsets:
            means = {s: summarise(self.scores(s, subset, self.measure)) for s in self.dedicated}
            rival = best(means, self.measure)
            own = self.mean(ONE_MODEL, subset)
            if rival is not None and not math.isnan(own):
                gain = (own - means[rival].mean) * (1 if self.measure.is_higher_better else -1)
                change = self.difference(ONE_MODEL, rival, subset)
                redrawn = self.redrawn(ONE_MODEL, rival, subset)
                sign = self.verdict(ONE_MODEL, rival, subset)
                found.append(Standing(subset, rival, gain, sign, change, redrawn))
        return found


def answer_sentence(standings: Sequence[Standing], over: str) -> str:
    """Say in one sentence which system to use, and how certain that is.

    Args:
        standings: One for each subset.
        over: How many seeds and test clips there are, in words.
    """
    if not standings:
        return (
            f"This grid has no rival of {ONE_MODEL}: no dedicated system was run, so the report "
            "cannot say which to use."
        )
    rivals = " or ".join(dict.fromkeys(one.rival for one in standings))
    above = sum(one.gain > 0 for one in standings)
    below = sum(one.gain < 0 for one in standings)
    clear = {sign: sum(one.verdict == sign for one in standings) for sign in (1, -1)}
    worse = [subset_title(one.subset) for one in standings if one.verdict < 0]
    counts = (
        f"one model is ahead of {rivals}, trained separately for each subset, on "
        f"{above} of {counted(len(standings), 'subset')}{_clearly(above, clear[1])} and behind on "
        f"{below}{_clearly(below, clear[-1])} ({over})"
    )
    if len(worse) == len(standings):
        return f"Use {rivals} rather than {ONE_MODEL}: {counts}."
    if worse:
        return f"Use {ONE_MODEL}, except with {'; '.join(worse)}: {counts}."
    if clear[1]:
        return f"Use {ONE_MODEL}: {counts}."
    return f"There is no clear winner between {ONE_MODEL} and the others: {counts}."


def _clearly(count: int, clear: int) -> str:
    return f" (clearly on {clear})" if count else ""


def subset_title(subset: Subset) -> str:
    """A subset as people write it."""
    return " + ".join(subset)
