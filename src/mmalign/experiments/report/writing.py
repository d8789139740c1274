"""From a grid, or the grids of a study, to the files of a report."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from mmalign.errors import MMAlignError
from mmalign.experiments.grid import Grid
from mmalign.experiments.report.document import Document
from mmalign.experiments.report.overview import study_document, write_document
from mmalign.experiments.report.rendering import (
    page_html,
    page_markdown,
    rows_csv,
    table_csv,
    table_latex,
)
from mmalign.experiments.report.runs import OWN as OWN_PLAN
from mmalign.experiments.report.runs import Metrics, Run, Runs, read_runs
from mmalign.experiments.report.study_tables import Rates, study_markdown
from mmalign.experiments.tables import SUBSET
from mmalign.files import write_atomically
from mmalign.runs.claim import refuse_foreign

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
    refuse_foreign(out, marker=PAGE, what="report")
    runs = read_runs(grid)
    scores = rows_csv(HEADINGS, _score_rows(runs))
    return _write(out, {"tables/scores.csv": scores}, write_document(runs))


def write_study(
    results: Mapping[str, Runs],
    out: Path,
    *,
    title: str = "When a modality is missing",
    rates: Rates | None = None,
) -> Path:
    """Write the report of several datasets, and their main tables as `results.md`.

    Args:
        results: Runs by the title of their dataset.
        out: Where to write.
        title: Title of the report.
        rates: What the learning rates were chosen by.

    Returns:
        The page.

    Raises:
        MMAlignError: If there is no dataset, or `out` holds something else.
    """
    refuse_foreign(out, marker=PAGE, what="report")
    if not results:
        raise MMAlignError("no dataset of the study has a finished run. Run it first.")
    rows = [(name, *row) for name, runs in results.items() for row in _score_rows(runs)]
    files = {
        "tables/scores.csv": rows_csv(("dataset", *HEADINGS), rows),
        "results.md": study_markdown(results, rates).encode(),
    }
    return _write(out, files, study_document(results, title))


def _write(out: Path, files: Mapping[str, bytes], document: Document) -> Path:
    everything = {**files, **dict(_files(document))}
    for name, content in everything.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out / name, content)
    for pattern in OWN:
        for file in set(out.glob(pattern)) - {out / name for name in everything}:
            file.unlink()
    return out / PAGE


def _files(document: Document) -> Iterator[tuple[str, bytes]]:
    for table in document.tables():
        yield f"tables/{table.name}.tex", table_latex(table).encode()
        yield f"tables/{table.name}.csv", table_csv(table)
    for picture in document.pictures():
        yield f"figures/{picture.name}.svg", picture.light
    yield "report.md", page_markdown(document).encode()
    yield PAGE, page_html(document).encode()


def _score_rows(runs: Runs) -> Iterator[tuple[object, ...]]:
    """Every metric of every finished training run, with every digit.

    Scores with another plan put in are those of setting A, with the name of the plan.
    """
    for run in runs.finished:
        about = run.entry.survival, run.entry.system, run.seed
        for where, how, scores in _scored(run):
            for metric, value in scores.items():
                yield run.entry.suite, *where, *about, *how, metric, "" if value is None else value


def _scored(run: Run) -> Iterator[tuple[tuple[str, str], tuple[str, str], Metrics]]:
    """Modalities and what is missing, setting and plan, and the metrics of each."""
    where = run.entry.job.where
    if run.entry.shows == "scores":
        for how, scores in run.scores.items():
            yield where, how, scores
    elif run.entry.shows == "subsets":
        for subset, found in run.subsets.items():
            yield ("+".join(subset), ""), (SUBSET, OWN_PLAN), found["metrics"]
    elif run.entry.shows == "rates":
        for rate, scores in run.rates.items():
            yield where, (f"{rate:g}", OWN_PLAN), scores
