"""Scores over the window or over epsilon, with what they are read against."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from mmalign.experiments.report.comparison import Panel, mean_interval, summarise
from mmalign.experiments.report.main_tables import both_settings
from mmalign.experiments.report.measures import Measure
from mmalign.experiments.report.runs import Condition, Runs
from mmalign.experiments.report.table import Row, Table
from mmalign.experiments.systems import FLOOR, LOWER

UNIFORM = "uniform"
"""The limit of a large epsilon."""


class Level(NamedTuple):
    """A mean with its 95 % interval; NaN where it cannot be known."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """A metric over a parameter of the method.

    Attributes:
        condition: Pair and survival rate.
        setting: "A" or "B".
        measure: What is shown.
        points: Levels by value of the window or epsilon, ascending; only finished ones.
        references: Levels that hold whatever the value is, by name.
    """

    condition: Condition
    setting: str
    measure: Measure
    points: dict[float, Level]
    references: dict[str, Level]


def curve(runs: Runs, suite: str, condition: Condition, setting: str) -> Curve:
    """The curve of a suite in its main metric."""
    panel, measure = Panel(runs, suite, condition), runs.measures[0]
    scores = {system: panel.scores(system, setting, measure) for system in panel.systems}
    levels = {s: Level(summarise(found).mean, *mean_interval(found)) for s, found in scores.items()}
    known = {system: level for system, level in levels.items() if not math.isnan(level.mean)}
    points = {float(system): level for system, level in known.items() if is_value(system)}
    references = {system: level for system, level in known.items() if not is_value(system)}
    return Curve(condition, setting, measure, dict(sorted(points.items())), references)


def is_value(system: str) -> bool:
    """Whether the row is a point of the curve."""
    return system not in (LOWER, FLOOR, UNIFORM)


def curve_table(runs: Runs, suite: str, condition: Condition, name: str) -> Table:
    """The same as numbers."""
    panel = Panel(runs, suite, condition)
    columns, series = both_settings(panel)
    values = sorted(filter(is_value, panel.systems), key=float)
    others = [system for system in panel.systems if not is_value(system)]
    rows = [
        Row(
            system,
            [cells[system] for cells in series],
            starts_group=index == len(values) and index > 0,
        )
        for index, system in enumerate(values + others)
    ]
    title = f"{condition.title}: {suite}, mean ± sd over seeds"
    return Table(name, title, suite.capitalize(), columns, rows)
