"""Milliseconds a training batch, as bars."""

import numpy as np
from matplotlib.figure import Figure

from mmalign.experiments.report.pictures.canvas import Picture, Theme, make_picture, short
from mmalign.experiments.report.runs import Run
from mmalign.experiments.report.table import ABSENT, Cell, Column, Row, Table

PARTS = ("fit", "impute", "solve")


def speed_picture(run: Run, name: str) -> Picture:
    """Fitting and imputing of every contender, forward and backward."""
    times = run.result["milliseconds"]
    title = f"{run.condition.pair}, batches of {run.result['batch_size']} clips"

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.subplots()
        names = list(times)
        rows = range(len(names))
        parts = {
            "solving for plans": ([t.get("solve", 0.0) for t in times.values()], theme.uniform),
            "rest of fitting": (
                [t.get("fit", 0.0) - t.get("solve", 0.0) for t in times.values()],
                theme.method,
            ),
            "imputing": ([t.get("impute", 0.0) for t in times.values()], theme.floor),
        }
        totals = np.zeros(len(names))
        for label, (widths, colour) in parts.items():
            axes.barh(rows, widths, left=totals, color=colour, label=label, height=0.62)
            totals = totals + widths
        for row, total in zip(rows, totals.tolist(), strict=True):
            axes.annotate(
                f"{total:.1f}", (total, row), (4, 0), textcoords="offset points", va="center"
            )
        axes.set_yticks(list(rows), [short(name) for name in names])
        axes.invert_yaxis()
        axes.margins(x=0.16)
        axes.set_xlabel("milliseconds of CPU time a batch")
        axes.grid(axis="x", linewidth=0.8)
        axes.set_axisbelow(True)
        figure.legend(loc="outside lower center", ncols=3, handlelength=1.4, columnspacing=1.2)

    told = ", ".join(
        f"{imputer} {parts.get('fit', 0):.1f} and {parts.get('impute', 0):.1f}"
        for imputer, parts in times.items()
    )
    return make_picture(
        name,
        draw,
        inches=(4.9, 2.8),
        caption=f"{title}: medians on one thread.",
        alt=f"Bar chart, {title}. Milliseconds of fitting and imputing: {told}.",
    )


def speed_table(run: Run, name: str) -> Table:
    """The same as numbers."""
    times = run.result["milliseconds"]
    rows = [
        Row(imputer, [Cell(f"{parts[p]:.2f}") if p in parts else ABSENT for p in PARTS])
        for imputer, parts in times.items()
    ]
    columns = [Column("Fit"), Column("Impute"), Column("Solver, within fit")]
    title = f"{run.condition.pair}: milliseconds a batch of {run.result['batch_size']} clips"
    return Table(name, title, "Imputer", columns, rows)
