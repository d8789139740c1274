"""A heat map of subsets of modalities by systems."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from mmalign.experiments.report.measures import Measure
from mmalign.experiments.report.pictures.canvas import Picture, Theme, make_picture, short

STRONGEST = 0.5
"""How much of the colour the best cell has; letters must stay readable on it."""

PALEST = 0.15
"""What share of that the worst cell has."""


@dataclass(frozen=True)
class HeatCell:
    """One cell.

    Attributes:
        mean: The score; NaN where there is none.
        share: 0 for no colour, 1 for the strongest.
        note: What stands below the score.
        is_clear: Whether the note is about a clear difference.
    """

    mean: float
    share: float
    note: str = ""
    is_clear: bool = False


@dataclass(frozen=True)
class Heat:
    """What the map shows.

    Attributes:
        title: What it is about.
        rows: Names of subsets.
        columns: Names of systems.
        cells: A cell for each row and column that has one.
        measure: What the numbers are.
    """

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Mapping[tuple[str, str], HeatCell]
    measure: Measure


def shares_of(
    means: Mapping[tuple[str, str], float], measure: Measure
) -> dict[tuple[str, str], float]:
    """From the palest for the worst mean to 1 for the best; a mean that is not there has 0."""
    known = [mean for mean in means.values() if not math.isnan(mean)]
    if not known:
        return dict.fromkeys(means, 0.0)
    worst, best = sorted((min(known), max(known)), reverse=not measure.is_higher_better)
    reach = best - worst
    return {
        place: 0.0
        if math.isnan(mean)
        else PALEST + (1 - PALEST) * ((mean - worst) / reach if reach else 1.0)
        for place, mean in means.items()
    }


def heat_picture(heat: Heat, name: str, caption: str) -> Picture:
    """One square a subset and system: the score, and below it the note."""

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.subplots()
        for (row, column), cell in heat.cells.items():
            _draw_cell(
                axes, heat.columns.index(column), heat.rows.index(row), cell, heat.measure, theme
            )
        axes.set_xlim(-0.5, len(heat.columns) - 0.5)
        axes.set_ylim(len(heat.rows) - 0.5, -0.5)
        axes.set_xticks(range(len(heat.columns)), [short(column) for column in heat.columns])
        axes.set_yticks(range(len(heat.rows)), list(heat.rows))
        axes.xaxis.tick_top()
        axes.tick_params(length=0, colors=theme.ink)
        for spine in axes.spines.values():
            spine.set_visible(False)

    longest = max((len(row) for row in heat.rows), default=0)
    inches = (0.9 + 0.075 * longest + 1.25 * len(heat.columns), 0.6 + 0.52 * len(heat.rows))
    return make_picture(name, draw, inches=inches, caption=caption, alt=_described(heat))


def _draw_cell(axes: Axes, x: int, y: int, cell: HeatCell, measure: Measure, theme: Theme) -> None:
    corner, strength = (x - 0.48, y - 0.46), STRONGEST * cell.share
    for colour, alpha in ((theme.void, 1.0), (theme.method, strength)):
        patch = Rectangle(corner, 0.96, 0.92, facecolor=colour, alpha=alpha, linewidth=0)
        axes.add_patch(patch)
    lift = 0.14 if cell.note else 0.0
    axes.text(x, y - lift, measure.show(cell.mean), ha="center", va="center", fontsize=10)
    if cell.note:
        weight = "bold" if cell.is_clear else "normal"
        axes.text(x, y + 0.22, cell.note, ha="center", va="center", fontsize=8, fontweight=weight)


def _described(heat: Heat) -> str:
    told = [
        f"{row}: "
        + ", ".join(
            f"{column} {heat.measure.show(cell.mean)}{f' ({cell.note})' if cell.note else ''}"
            for column in heat.columns
            for cell in [heat.cells.get((row, column))]
            if cell is not None
        )
        for row in heat.rows
    ]
    return f"Heat map of {heat.measure.title}, {heat.title}. {'. '.join(told)}."
