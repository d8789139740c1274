"""What each part of the method is worth, and whether its plans are used."""

from mmalign.experiments.plan_swaps import SWAPS
from mmalign.experiments.report.comparison import Panel, difference
from mmalign.experiments.report.main_tables import (
    both_settings,
    difference_cell,
    difference_columns,
    difference_headings,
    score_cell,
    system_rows,
)
from mmalign.experiments.report.runs import Condition, Runs
from mmalign.experiments.report.table import ABSENT, Column, Row, Table
from mmalign.experiments.suites import ABLATIONS
from mmalign.experiments.systems import UPPER

WHOLE = next(iter(ABLATIONS))
"""The method that parts are taken from."""

EXPLAINED = {
    "uniform": "uniform plan",
    "permuted": "permuted plan",
    "oracle": "solver's plan (oracle)",
}


def ablation_table(runs: Runs, condition: Condition, name: str) -> Table:
    """Scores in both settings, and the difference to the whole method in setting A."""
    panel = Panel(runs, "ablation", condition)
    columns, series = both_settings(panel)
    columns += difference_headings(f"A, against {WHOLE}")
    series += difference_columns(panel, "A", WHOLE, runs.measures[0])
    # Parts first, in the order of the suite, then what they are read against; UB last.
    order = [*ABLATIONS, *(s for s in panel.systems if s not in (*ABLATIONS, UPPER)), UPPER]
    rows = system_rows(runs, [s for s in order if s in panel.systems], series)
    title = f"{condition.title}: parts of the method, mean ± sd over seeds"
    return Table(name, title, "System", columns, rows)


def swap_table(runs: Runs, condition: Condition, name: str) -> Table | None:
    """Setting A with other plans in place of the predicted one; None if no run has plans."""
    panels = (Panel(runs, suite, condition) for suite in ("main", "ablation"))
    rows: dict[str, Row] = {}
    for panel in panels:
        for system in panel.systems:
            row = _swap_row(panel, system)
            if row is not None:
                rows.setdefault(system, row)
    if not rows:
        return None
    columns = [Column(runs.measures[0].heading, "Predicted plan")]
    group = "Predicted minus … [95 % interval]"
    columns += [Column(EXPLAINED.get(swap, swap), group) for swap in SWAPS]
    title = f"{condition.title}: plans swapped at test time, setting A"
    return Table(name, title, "System", columns, list(rows.values()))


def _swap_row(panel: Panel, system: str) -> Row | None:
    measure = panel.runs.measures[0]
    predicted = panel.scores(system, "A", measure)
    changes = [difference(predicted, panel.scores(system, "A", measure, swap)) for swap in SWAPS]
    cells = [difference_cell(change, measure) for change in changes]
    if all(cell == ABSENT for cell in cells):
        return None
    return Row(system, [score_cell(predicted, measure, planned=panel.seeds), *cells])
