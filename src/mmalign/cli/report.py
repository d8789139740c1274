"""`mmalign report`: a page, tables and figures from the results of a grid."""

from pathlib import Path
from typing import Annotated

import typer


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Directory of a grid, as mmalign bench wrote it.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where to write.", show_default="DIR/report")
    ] = None,
) -> None:
    """Write report.html, report.md, LaTeX and CSV tables and figures; unfinished grids are fine."""
    from mmalign.experiments.grid import open_grid
    from mmalign.experiments.report.writing import write_report

    grid = open_grid(folder)
    page = write_report(grid, out or folder / "report")
    pending = len(grid.pending())
    if pending:
        typer.echo(f"{pending} of {len(grid.jobs)} runs are not finished; the report says which.")
    typer.echo(f"report: {page}")
