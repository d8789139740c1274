"""Scores over the missing rate: whole modalities at random, or runs of steps."""

from dataclasses import dataclass
from functools import cached_property

from mmalign.experiments.report.comparison import mean_interval, summarise
from mmalign.experiments.report.curves import Level
from mmalign.experiments.report.main_tables import CONSTANT, score_cell
from mmalign.experiments.report.measures import percent
from mmalign.experiments.report.runs import Run, Seeds
from mmalign.experiments.report.subset_scores import SuitePanel
from mmalign.experiments.report.table import Cell, Column, Row, Table


@dataclass(frozen=True)
class RatePanel(SuitePanel):
    """What a suite over missing rates found about some modalities."""

    @cached_property
    def systems(self) -> list[str]:
        """Systems with a finished run, in the order of the suite."""
        return list(dict.fromkeys(run.entry.system for run in self.finished))

    @cached_property
    def rates(self) -> list[float]:
        """The missing rates, ascending."""
        return sorted({rate for run in self.finished for rate in run.rates})

    def scores(self, system: str, rate: float) -> Seeds:
        """What decides, on test at a missing rate, of every finished seed that has it."""
        found = {run.seed: self._value(run, rate) for run in self._of(system) if rate in run.rates}
        return {seed: value for seed, value in found.items() if value is not None}

    def levels(self, system: str) -> dict[float, Level]:
        """Means with their intervals, by missing rate."""
        known = {rate: self.scores(system, rate) for rate in self.rates}
        return {
            rate: Level(summarise(scores).mean, *mean_interval(scores))
            for rate, scores in known.items()
            if scores
        }

    @cached_property
    def floor(self) -> float:
        """What a constant scores; it looks at labels only, and so is the same at every rate."""
        values = (run.result["floor"]["test"].get(self.measure.key) for run in self.finished)
        return next((float(value) for value in values if value is not None), float("nan"))

    def _of(self, system: str) -> list[Run]:
        return [run for run in self.finished if run.entry.system == system]

    def _value(self, run: Run, rate: float) -> float | None:
        value = run.rates[rate].get(self.measure.key)
        return None if value is None else float(value)


def rate_table(panel: RatePanel, name: str) -> Table:
    """Systems by missing rates, mean ± sd over seeds."""
    measure, planned = panel.measure, len(panel.runs.seeds(panel.suite))
    rows = [
        Row(
            system,
            [
                score_cell(panel.scores(system, rate), measure, planned=planned)
                for rate in panel.rates
            ],
        )
        for system in panel.systems
    ]
    rows.append(Row(CONSTANT, [Cell(measure.show(panel.floor)) for _ in panel.rates]))
    columns = [Column(percent(rate), f"{measure.heading} at missing rate") for rate in panel.rates]
    title = f"{', '.join(panel.modalities)}: {measure.title}, mean ± sd over seeds"
    return Table(name, title, "System", columns, rows)
