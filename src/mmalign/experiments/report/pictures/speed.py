"""Milliseconds a training batch, as bars."""

from matplotlib.figure import Figure

from mmalign.experiments.report.pictures.canvas import Picture, Theme, make_picture
from mmalign.experiments.report.runs import Run
from mmalign.experiments.report.table import ABSENT, Cell, Column, Row, Table

PARTS = ("fit", "impute", "solve")


def speed_picture(run: Run, name: str) -> Picture:
    """Fitting and imputing of every contender; the solver's share of fitting is hatched."""
    times = run.result["milliseconds"]
    title = f"{run.condition.pair}, batches of {run.result['batch_size']} clips"

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.subplots()
        names = list(times)
        rows = range(len(names))
        fit = [times[n].get("fit", 0.0) for n in names]
        impute = [times[n].get("impute", 0.0) for n in names]
        solve = [times[n].get("solve", 0.0) for n in names]
        axes.barh(rows, fit, color=theme.method, label="fit (complete clips)", height=0.62)
        axes.barh(
            rows,
            solve,
            color="none",
            edgecolor=theme.surface,
            hatch="/////",
            linewidth=0,
            label="of which the solver",
            height=0.62,
        )
        axes.barh(
            rows, impute, left=fit, color=theme.floor, label="impute (missing clips)", height=0.62
        )
        for row, total in zip(rows, map(sum, zip(fit, impute, strict=True)), strict=True):
            axes.annotate(
                f"{total:.1f}", (total, row), (4, 0), textcoords="offset points", va="center"
            )
        axes.set_yticks(list(rows), names)
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set_xlabel("milliseconds of CPU time a batch, forward and backward")
        axes.grid(axis="x", linewidth=0.8)
        axes.set_axisbelow(True)
        figure.legend(loc="outside lower center", ncols=3, handlelength=1.4, columnspacing=1.2)

    told = ", ".join(
        f"{who} {parts.get('fit', 0):.1f} and {parts.get('impute', 0):.1f}"
        for who, parts in times.items()
    )
    return make_picture(
        name,
        draw,
        inches=(6.2, 2.9),
        caption=f"{title}: medians over interleaved rounds on one thread.",
        alt=f"Bar chart, {title}. Milliseconds of fitting and imputing: {told}.",
    )


def speed_table(run: Run, name: str) -> Table:
    """The same as numbers."""
    times = run.result["milliseconds"]
    rows = [
        Row(who, [Cell(f"{parts[p]:.2f}") if p in parts else ABSENT for p in PARTS])
        for who, parts in times.items()
    ]
    columns = [Column("Fit"), Column("Impute"), Column("Solver, within fit")]
    title = f"{run.condition.pair}: milliseconds a batch of {run.result['batch_size']} clips"
    return Table(name, title, "Imputer", columns, rows)
