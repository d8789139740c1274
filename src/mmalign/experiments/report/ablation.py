"""What each part of the method is worth, and whether its plans are used."""

from mmalign.data.missingness import SETTINGS
from mmalign.experiments.plan_swaps import SWAPS
from mmalign.experiments.report.comparison import difference
from mmalign.experiments.report.main_tables import (
    difference_cells,
    score_cell,
    score_column,
    system_rows,
)
from mmalign.experiments.report.measures import IN_MAIN_TABLE, measures_of
from mmalign.experiments.report.runs import Condition, Runs
from mmalign.experiments.report.table import ABSENT, Column, Row, Table
from mmalign.experiments.suites import ABLATIONS, UPPER

WHOLE = next(iter(ABLATIONS))
"""The method that parts are taken from."""

EXPLAINED = {
    "uniform": "uniform plan",
    "permuted": "permuted plan",
    "oracle": "solver's plan (oracle)",
}


def ablation_table(runs: Runs, condition: Condition, name: str) -> Table:
    """Scores in both settings, and the difference to the whole method in setting A."""
    measures = measures_of(runs.grid.data["task"])[:IN_MAIN_TABLE]
    main = measures[0]
    columns = [Column(m.heading, f"Setting {s}") for s in SETTINGS for m in measures]
    series = [score_column(runs, "ablation", condition, s, m) for s in SETTINGS for m in measures]
    whole = runs.scores("ablation", condition, WHOLE, "A", main.key)
    systems = _ordered(runs.systems("ablation", condition))
    differences, p_values = {}, {}
    for system in systems:
        if system != WHOLE:
            scores = runs.scores("ablation", condition, system, "A", main.key)
            differences[system], p_values[system] = difference_cells(
                difference(scores, whole), main
            )
    group = f"A, against {WHOLE}"
    columns += [Column("Difference [95 % interval]", group), Column("p", group)]
    rows = system_rows(systems, [*series, differences, p_values])
    title = f"{condition.title}: parts of the method, mean ± sd over seeds"
    return Table(name, title, "System", columns, rows)


def swap_table(runs: Runs, condition: Condition, name: str) -> Table | None:
    """Setting A with other plans in place of the predicted one; None if no run has plans."""
    measure = measures_of(runs.grid.data["task"])[0]
    rows: list[Row] = []
    for suite in ("main", "ablation"):
        for system in runs.systems(suite, condition):
            row = _swap_row(runs, suite, condition, system)
            if row is not None and row.title not in {known.title for known in rows}:
                rows.append(row)
    if not rows:
        return None
    columns = [Column(measure.heading, "Predicted plan")]
    columns += [
        Column(EXPLAINED.get(swap, swap), "Predicted minus … [95 % interval]") for swap in SWAPS
    ]
    return Table(
        name, f"{condition.title}: plans swapped at test time, setting A", "System", columns, rows
    )


def _swap_row(runs: Runs, suite: str, condition: Condition, system: str) -> Row | None:
    measure = measures_of(runs.grid.data["task"])[0]
    planned = len(runs.seeds(suite))
    predicted = runs.scores(suite, condition, system, "A", measure.key)
    cells = [score_cell(predicted, measure, planned=planned)]
    for swap in SWAPS:
        swapped = runs.swaps(suite, condition, system, swap, measure.key)
        cells.append(difference_cells(difference(predicted, swapped), measure)[0])
    return None if all(cell == ABSENT for cell in cells[1:]) else Row(system, cells)


def _ordered(systems: list[str]) -> list[str]:
    """Parts first, in the order of the suite, then what they are read against; UB last."""
    parts = [title for title in ABLATIONS if title in systems]
    others = [title for title in systems if title not in ABLATIONS and title != UPPER]
    return parts + others + [UPPER] * (UPPER in systems)
