"""Scores over the window or over epsilon, with what they are read against."""

import math
from dataclasses import dataclass

from mmalign.data.missingness import SETTINGS
from mmalign.experiments.report.comparison import mean_interval, summarise
from mmalign.experiments.report.main_tables import score_column
from mmalign.experiments.report.measures import IN_MAIN_TABLE, Measure, measures_of
from mmalign.experiments.report.runs import Condition, Runs, Seeds
from mmalign.experiments.report.table import Column, Row, Table
from mmalign.experiments.suites import FLOOR, LOWER

UNIFORM = "uniform"
"""The limit of a large epsilon."""


@dataclass(frozen=True)
class Level:
    """A mean with its 95 % interval; NaN where it cannot be known."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Curve:
    """A metric over a setting of the method.

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
    measure = measures_of(runs.grid.data["task"])[0]
    points, references = {}, {}
    for system in runs.systems(suite, condition):
        found = level(runs.scores(suite, condition, system, setting, measure.key))
        if math.isnan(found.mean):
            continue
        if is_value(system):
            points[float(system)] = found
        else:
            references[system] = found
    return Curve(condition, setting, measure, dict(sorted(points.items())), references)


def level(scores: Seeds) -> Level:
    """Mean and interval over seeds."""
    return Level(summarise(scores).mean, *mean_interval(scores))


def is_value(system: str) -> bool:
    """Whether the row is a point of the curve."""
    return system not in (LOWER, FLOOR, UNIFORM)


def curve_table(runs: Runs, suite: str, condition: Condition, name: str) -> Table:
    """The same as numbers."""
    measures = measures_of(runs.grid.data["task"])[:IN_MAIN_TABLE]
    columns = [Column(m.heading, f"Setting {s}") for s in SETTINGS for m in measures]
    series = [score_column(runs, suite, condition, s, m) for s in SETTINGS for m in measures]
    systems = runs.systems(suite, condition)
    values = sorted((s for s in systems if is_value(s)), key=float)
    others = [s for s in systems if not is_value(s)]
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
