"""From a grid to the files of its report."""

from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path

from mmalign.errors import MMAlignError
from mmalign.experiments.grid import Grid
from mmalign.experiments.report.document import Document
from mmalign.experiments.report.overview import write_document
from mmalign.experiments.report.rendering.comma import rows_csv, table_csv
from mmalign.experiments.report.rendering.html import page_html
from mmalign.experiments.report.rendering.latex import table_latex
from mmalign.experiments.report.rendering.markdown import page_markdown
from mmalign.experiments.report.runs import Runs, read_runs
from mmalign.files import write_atomically

PAGE = "report.html"
HEADINGS = (
    *("suite", "visible", "victim", "survival", "system", "seed"),
    *("setting", "plan", "metric", "value"),
)
OWN = ("tables/*.tex", "tables/*.csv", "figures/*.svg")
"""Files in a report's folders that belong to it, and go when a newer report has them no more."""


def write_report(grid: Grid, out: Path) -> Path:
    """Write `report.html`, `report.md`, `tables` and `figures`; the same grid gives the same bytes.

    Every file is replaced when its new content is whole, the page last.

    Returns:
        The page.

    Raises:
        MMAlignError: If no run is finished, a result is damaged, or `out` holds something else.
    """
    if out.exists() and not (out.is_dir() and (not any(out.iterdir()) or (out / PAGE).exists())):
        raise MMAlignError(f"{out}: exists and is no report. Give another --out.")
    runs = read_runs(grid)
    files = dict(_files(runs, write_document(runs)))
    for name, content in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out / name, content)
    for pattern in OWN:
        for file in set(out.glob(pattern)) - {out / name for name in files}:
            file.unlink()
    return out / PAGE


def _files(runs: Runs, document: Document) -> Iterator[tuple[str, bytes]]:
    for table in document.tables():
        yield f"tables/{table.name}.tex", table_latex(table).encode()
        yield f"tables/{table.name}.csv", table_csv(table)
    yield "tables/scores.csv", score_csv(runs)
    for picture in document.pictures():
        yield f"figures/{picture.name}.svg", picture.light
    yield "report.md", page_markdown(document).encode()
    yield PAGE, page_html(document).encode()


def score_csv(runs: Runs) -> bytes:
    """Every metric of every finished training run, one a line, with every digit.

    Scores with another plan put in are those of setting A, with the name of the plan.
    """
    rows = [
        (*place, *how, metric, "" if value is None else value)
        for run in runs.finished
        if run.entry.job.kind == "train"
        for place in [(run.entry.suite, *astuple(run.condition), run.entry.system, run.seed)]
        for how, scores in run.scores.items()
        for metric, value in scores.items()
    ]
    return rows_csv(HEADINGS, rows)
