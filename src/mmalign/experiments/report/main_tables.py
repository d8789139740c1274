"""The tables of the paper: systems by settings, their differences, and every metric."""

from collections.abc import Mapping, Sequence

from mmalign.data.missingness import SETTINGS
from mmalign.evaluation.redrawing import Interval
from mmalign.evaluation.significance import PairedDifference
from mmalign.experiments.report.comparison import (
    Panel,
    best,
    difference,
    recovered_gap,
    summarise,
    verdict,
)
from mmalign.experiments.report.measures import IN_MAIN_TABLE, Measure
from mmalign.experiments.report.runs import Condition, Runs, Seeds
from mmalign.experiments.report.table import ABSENT, Cell, Column, Row, Table
from mmalign.experiments.systems import FLOOR, LOWER, UPPER
from mmalign.training.methods import METHODS

CONSTANT = "constant"
REFERENCES = {FLOOR: ("▲", "▼"), LOWER: ("†", "‡")}
"""What the others are tested against, and the marks of clearly better and clearly worse."""

Cells = Mapping[str, Cell]
"""A column: cells by system."""


def kind_of(runs: Runs, system: str) -> str:
    """`bound`, `floor`, `imputer` or, for what is no run, `constant`."""
    if system == CONSTANT:
        return CONSTANT
    method = METHODS.get(runs.config(system).method)
    source = method.source if method else ""  # a method of the user's own is an imputer
    return "bound" if source.endswith("bound") else "floor" if source == "floor" else "imputer"


def is_imputer(runs: Runs, system: str) -> bool:
    """Whether it learns to stand in for the victim: neither a bound nor a floor."""
    return kind_of(runs, system) == "imputer"


def is_contender(runs: Runs, system: str) -> bool:
    """Whether comparing it with zero-fill says something: an imputer or another floor."""
    return kind_of(runs, system) in ("imputer", "floor") and runs.config(system).method != FLOOR


def main_table(runs: Runs, condition: Condition, name: str) -> Table:
    """All systems in settings A and B: the first metrics, marks, and the gap recovered."""
    panel, measures = Panel(runs, "main", condition), runs.measures[:IN_MAIN_TABLE]
    columns, series = [], []
    for setting in SETTINGS:
        columns += [Column(title, f"Setting {setting}") for title in _headings(measures)]
        series += [score_column(panel, setting, measure) for measure in measures]
        columns.append(Column("Gap", f"Setting {setting}"))
        series.append(_gap_column(panel, setting, measures[0]))
    title = f"{condition.title}: mean ± sd over seeds"
    rows = system_rows(runs, [CONSTANT, *panel.systems], series)
    return Table(name, title, "System", columns, rows, legend=marks_legend(runs))


def marks_legend(runs: Runs) -> str:
    """How to read the marks of the main tables."""
    return (
        f"Mean ± sample standard deviation over {runs.seed_count('main')}. Bold: the best "
        "except UB. ▲ clearly better and ▼ clearly worse than zero-fill, † clearly better and ‡ "
        "clearly worse than LB (paired t-test over seeds, p < 0.05). Gap: the share of the way "
        f"from LB to UB that is recovered in {runs.measures[0].title}; in brackets if UB is "
        "not clearly better than LB, as there is no gap then. “constant” always predicts the "
        "training majority or mean."
    )


def metrics_table(runs: Runs, condition: Condition, setting: str, name: str) -> Table:
    """Every metric of every system in one setting."""
    panel = Panel(runs, "main", condition)
    series = [score_column(panel, setting, measure) for measure in runs.measures]
    rows = system_rows(runs, [CONSTANT, *panel.systems], series)
    title = f"{condition.title}, setting {setting}: all metrics"
    return Table(name, title, "System", list(map(Column, _headings(runs.measures))), rows)


def difference_table(runs: Runs, condition: Condition, setting: str, name: str) -> Table:
    """System minus reference over paired seeds, in the first metric."""
    panel, measure = Panel(runs, "main", condition), runs.measures[0]
    columns: list[Column] = []
    series: list[Cells] = []
    for reference in REFERENCES:
        columns += difference_headings(f"Against {reference}")
        series += difference_columns(panel, setting, reference, measure)
    rows = system_rows(runs, panel.systems, series)
    title = f"{condition.title}, setting {setting}: paired differences in {measure.title}"
    return Table(name, title, "System", columns, rows)


def both_settings(panel: Panel) -> tuple[list[Column], list[Cells]]:
    """Columns of the first metrics in settings A and B."""
    measures = panel.runs.measures[:IN_MAIN_TABLE]
    columns = [Column(m.heading, f"Setting {s}") for s in SETTINGS for m in measures]
    return columns, [score_column(panel, s, m) for s in SETTINGS for m in measures]


def score_column(panel: Panel, setting: str, measure: Measure) -> Cells:
    """Cells of one metric by system; the best but for the upper bound stands out."""
    scores = {system: panel.scores(system, setting, measure) for system in panel.systems}
    champion = best({s: summarise(values) for s, values in scores.items() if s != UPPER}, measure)
    cells = {
        system: score_cell(
            values,
            measure,
            planned=panel.seeds,
            marks=_marks(scores, system, measure),
            is_best=system == champion,
        )
        for system, values in scores.items()
    }
    return cells | {CONSTANT: Cell(measure.show(panel.runs.floor(measure)))}


def score_cell(
    scores: Seeds, measure: Measure, *, planned: int, marks: str = "", is_best: bool = False
) -> Cell:
    """Mean ± sd; the number of seeds where some are missing."""
    summary = summarise(scores)
    if summary.seeds == 0:
        return ABSENT
    text = measure.show(summary.mean)
    if summary.seeds > 1:
        text += f" ± {measure.show(summary.sd)}"
    if summary.seeds < planned:
        text += f" (n={summary.seeds})"
    return Cell(text, marks, is_best)


def difference_headings(group: str) -> list[Column]:
    """Headings of `difference_columns`."""
    return [Column("Difference [95 % interval]", group), Column("p", group)]


def difference_columns(
    panel: Panel, setting: str, reference: str, measure: Measure
) -> tuple[Cells, Cells]:
    """Differences from a reference, and their p-values."""
    found = {
        system: panel.difference(system, reference, setting, measure)
        for system in panel.systems
        if system != reference
    }
    cells = {
        system: difference_cell(change, measure, _mark(change, reference, measure))
        for system, change in found.items()
    }
    p_values = {s: ABSENT if d is None else Cell(_show_p(d.p_value)) for s, d in found.items()}
    return cells, p_values


def difference_cell(
    found: PairedDifference | Interval | None, measure: Measure, marks: str = ""
) -> Cell:
    """Mean [interval], in bold if it is clear, and more than nothing in the digits shown."""
    if found is None:
        return ABSENT
    mean, low, high = map(measure.show_change, (found.mean, found.low, found.high))
    is_something = mean != measure.show_change(0.0)
    return Cell(f"{mean} [{low}, {high}]", marks, is_best=found.is_clear and is_something)


def system_rows(runs: Runs, systems: Sequence[str], series: Sequence[Cells]) -> list[Row]:
    """A line for each system; bounds, floors and imputers are set apart."""
    rows: list[Row] = []
    previous = ""
    for system in systems:
        is_lower = system == CONSTANT or system.startswith(LOWER)
        group = "lower" if is_lower else kind_of(runs, system)
        cells = [column.get(system, ABSENT) for column in series]
        rows.append(Row(system, cells, starts_group=bool(previous) and group != previous))
        previous = group
    return rows


def _headings(measures: Sequence[Measure]) -> list[str]:
    return [measure.heading for measure in measures]


def _marks(scores: Mapping[str, Seeds], system: str, measure: Measure) -> str:
    """▲▼ against zero-fill, †‡ against LB, where the paired interval leaves out 0."""
    return "".join(
        _mark(difference(scores[system], scores[reference]), reference, measure)
        for reference in REFERENCES
        if system != reference and reference in scores
    )


def _mark(found: PairedDifference | None, reference: str, measure: Measure) -> str:
    better, worse = REFERENCES.get(reference, ("", ""))
    return {1: better, 0: "", -1: worse}[verdict(found, measure)]


def _show_p(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _gap_column(panel: Panel, setting: str, measure: Measure) -> Cells:
    """Gap recovered by system; in brackets where the bounds are not clearly apart."""
    lower, upper = (panel.scores(bound, setting, measure) for bound in (LOWER, UPPER))
    cells = {}
    for system in panel.systems:
        gap = recovered_gap(panel.scores(system, setting, measure), lower, upper, measure)
        if gap.share == gap.share and system not in (LOWER, UPPER):
            text = f"{100 * gap.share:.0f} %".replace("-", "−")
            cells[system] = Cell(text if gap.is_real else f"({text})", is_faint=not gap.is_real)
    return cells
