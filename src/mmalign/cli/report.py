"""`mmalign report`: turn the results of a grid into a page, tables and figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mmalign.errors import MMAlignError, shown

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
    begun = {t: open_grid(study.grid(t)) for t in study.grids if study.is_started(t)}
    grids = {title: grid for title, grid in begun.items() if len(grid.pending()) < len(grid.jobs)}
    again = f"Go on with mmalign bench STUDY.toml --out {folder}"
    if not grids:
        raise MMAlignError(f"{folder}: no dataset of the study has a finished run. {again}.")
    results = {title: read_runs(grid, decides="accuracy") for title, grid in grids.items()}
    page = write_study(results, out, title=study.title, rates=study.rates())
    for title in study.grids:
        if title in grids:
            _tell_pending(grids[title], f"{shown(title)}: ")
        else:
            typer.echo(f"{shown(title)}: left out, no run is finished. {again}.")
    return page


def _tell_pending(grid: "Grid", of: str = "") -> None:
    pending, total = len(grid.pending()), len(grid.jobs)
    if pending:
        typer.echo(f"{of}{pending} of {total} runs are not finished; the report says which.")
