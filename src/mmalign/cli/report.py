"""`mmalign report`: turn the results of a grid into a page, tables and figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mmalign.experiments.grid import Grid


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Directory of a grid or a study.")],
    out: Annotated[
        Path | None, typer.Option(help="Directory to write.", show_default="DIR/report")
    ] = None,
) -> None:
    """Turn results into a page, tables (Markdown, LaTeX, CSV) and figures.

    The grid or study need not be finished.
    """
    from mmalign.experiments.conducting import is_study

    target = out or folder / "report"
    page = _report_study(folder, target) if is_study(folder) else _report_grid(folder, target)
    typer.echo(f"report: {page}")


def _report_grid(folder: Path, out: Path) -> Path:
    from mmalign.experiments.grid import open_grid
    from mmalign.experiments.report.writing import write_report

    grid = open_grid(folder)
    page = write_report(grid, out)
    _tell_pending(grid)
    return page


def _report_study(folder: Path, out: Path) -> Path:
    from mmalign.experiments.conducting import open_study
    from mmalign.experiments.grid import open_grid
    from mmalign.experiments.report.runs import read_runs
    from mmalign.experiments.report.writing import write_study

    study = open_study(folder)
    grids = {t: open_grid(study.grid(t)) for t in study.grids if study.is_started(t)}
    results = {title: read_runs(grid, decides="accuracy") for title, grid in grids.items()}
    page = write_study(results, out, title=study.title, rates=study.rates())
    for grid in grids.values():
        _tell_pending(grid)
    return page


def _tell_pending(grid: "Grid") -> None:
    pending = len(grid.pending())
    if pending:
        typer.echo(f"{pending} of {len(grid.jobs)} runs are not finished; the report says which.")
