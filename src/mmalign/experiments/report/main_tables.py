"""The tables of the paper: systems by settings, their differences, and every metric."""

from collections.abc import Mapping, Sequence

from mmalign.data.missingness import SETTINGS
from mmalign.evaluation.significance import PairedDifference
from mmalign.experiments.report.comparison import (
    best,
    difference,
    recovered_gap,
    summarise,
    verdict,
)
from mmalign.experiments.report.measures import IN_MAIN_TABLE, Measure, measures_of
from mmalign.experiments.report.runs import Condition, Runs, Seeds
from mmalign.experiments.report.table import ABSENT, Cell, Column, Row, Table, slug
from mmalign.experiments.suites import FLOOR, LOWER, SYSTEMS, UPPER
from mmalign.training.methods import METHODS

CONSTANT = "constant"
REFERENCES = {FLOOR: ("▲", "▼"), LOWER: ("†", "‡")}
"""Who the others are tested against, and the marks of clearly better and clearly worse."""

KINDS = {title: METHODS[settings["method"]].source for title, settings in SYSTEMS.values()}


def kind_of(system: str) -> str:
    """`bound`, `floor` or `imputer`."""
    source = KINDS.get(system, "")
    return "bound" if source.endswith("bound") else "floor" if source == "floor" else "imputer"


def is_imputer(system: str) -> bool:
    """Whether it learns to stand in for the victim: neither a bound nor a floor."""
    return kind_of(system) == "imputer" and system != CONSTANT


def table_name(kind: str, condition: Condition, number: int) -> str:
    """A file name for the table of a condition; the number tells apart what letters cannot."""
    pair = f"{slug(condition.visible)}-to-{slug(condition.victim)}"
    return f"{kind}-{number}-{pair}-{round(100 * condition.survival)}"


def main_table(runs: Runs, condition: Condition, name: str) -> Table:
    """All systems in settings A and B: the first metrics, marks, and the gap recovered."""
    measures = measures_of(runs.grid.data["task"])[:IN_MAIN_TABLE]
    columns, series = [], []
    for setting in SETTINGS:
        for measure in measures:
            columns.append(Column(measure.heading, f"Setting {setting}"))
            series.append(score_column(runs, "main", condition, setting, measure))
        columns.append(Column("Gap", f"Setting {setting}"))
        series.append(_gap_column(runs, condition, setting, measures[0]))
    title = f"{condition.title}: mean ± sd over seeds"
    rows = system_rows([CONSTANT, *runs.systems("main", condition)], series)
    return Table(name, title, "System", columns, rows, legend=marks_legend(runs))


def marks_legend(runs: Runs) -> str:
    """How to read the marks of the main tables."""
    measure = measures_of(runs.grid.data["task"])[0]
    return (
        f"Mean ± sample standard deviation over {runs.seed_count('main')}. In bold the best but "
        "for UB. ▲ clearly better and ▼ clearly worse than zero-fill, † clearly better and ‡ "
        "clearly worse than LB (paired t-test over seeds, p < 0.05). Gap: the share of the way "
        f"from LB to UB that is recovered in {measure.title}; in brackets where UB is "
        "not clearly better than LB, as there is no gap then. “constant” always says the training "
        "majority or mean."
    )


def metrics_table(runs: Runs, condition: Condition, setting: str, name: str) -> Table:
    """Every metric of every system in one setting."""
    measures = measures_of(runs.grid.data["task"])
    columns = [Column(measure.heading) for measure in measures]
    series = [score_column(runs, "main", condition, setting, measure) for measure in measures]
    rows = system_rows([CONSTANT, *runs.systems("main", condition)], series)
    return Table(
        name, f"{condition.title}, setting {setting}: all metrics", "System", columns, rows
    )


def difference_table(runs: Runs, condition: Condition, setting: str, name: str) -> Table:
    """System minus reference over paired seeds, in the first metric."""
    measure = measures_of(runs.grid.data["task"])[0]
    columns, series = [], []
    for reference in REFERENCES:
        group = f"Against {reference}"
        columns += [Column("Difference [95 % interval]", group), Column("p", group)]
        series += _difference_columns(runs, condition, setting, reference, measure)
    rows = system_rows(runs.systems("main", condition), series)
    title = f"{condition.title}, setting {setting}: paired differences in {measure.title}"
    return Table(name, title, "System", columns, rows)


def score_column(
    runs: Runs, suite: str, condition: Condition, setting: str, measure: Measure
) -> dict[str, Cell]:
    """Cells of one metric by system; the best but for the upper bound stands out."""
    systems = runs.systems(suite, condition)
    scores = {s: runs.scores(suite, condition, s, setting, measure.key) for s in systems}
    champion = best({s: summarise(values) for s, values in scores.items() if s != UPPER}, measure)
    cells = {
        system: score_cell(
            values,
            measure,
            planned=len(runs.seeds(suite)),
            marks=marks(values, scores, system, measure),
            is_best=system == champion,
        )
        for system, values in scores.items()
    }
    return cells | {CONSTANT: Cell(measure.show(runs.floor(measure.key)))}


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


def marks(scores: Seeds, all_scores: Mapping[str, Seeds], system: str, measure: Measure) -> str:
    """▲▼ against zero-fill, †‡ against LB, where the paired interval leaves out 0."""
    return "".join(
        mark(difference(scores, all_scores[reference]), reference, measure)
        for reference in REFERENCES
        if system != reference and reference in all_scores
    )


def mark(found: PairedDifference | None, reference: str, measure: Measure) -> str:
    """The sign of a clear difference from a reference."""
    better, worse = REFERENCES.get(reference, ("", ""))
    return {1: better, 0: "", -1: worse}[verdict(found, measure)]


def difference_cells(
    found: PairedDifference | None, measure: Measure, reference: str = ""
) -> tuple[Cell, Cell]:
    """Mean [interval], and p."""
    if found is None:
        return ABSENT, ABSENT
    mean, low, high = map(measure.show_change, (found.mean, found.low, found.high))
    text = f"{mean} [{low}, {high}]"
    marks = mark(found, reference, measure)
    return Cell(text, marks, is_best=found.is_clear), Cell(show_p(found.p_value))


def show_p(p_value: float) -> str:
    """A p-value with three decimals."""
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def system_rows(systems: Sequence[str], series: Sequence[dict[str, Cell]]) -> list[Row]:
    """A line for each system; bounds, floors and imputers are set apart."""
    rows: list[Row] = []
    previous = ""
    for system in systems:
        group = "lower" if system == CONSTANT or system.startswith(LOWER) else kind_of(system)
        rows.append(
            Row(
                system,
                [cells.get(system, ABSENT) for cells in series],
                starts_group=bool(previous) and group != previous,
            )
        )
        previous = group
    return rows


def _gap_column(
    runs: Runs, condition: Condition, setting: str, measure: Measure
) -> dict[str, Cell]:
    """Gap recovered by system; in brackets where the bounds are not clearly apart."""

    def scores(system: str) -> Seeds:
        return runs.scores("main", condition, system, setting, measure.key)

    cells = {}
    for system in runs.systems("main", condition):
        gap = recovered_gap(scores(system), scores(LOWER), scores(UPPER), measure)
        if gap.share == gap.share and system not in (LOWER, UPPER):
            text = f"{100 * gap.share:.0f} %".replace("-", "−")
            cells[system] = Cell(text if gap.is_real else f"({text})", is_faint=not gap.is_real)
    return cells


def _difference_columns(
    runs: Runs, condition: Condition, setting: str, reference: str, measure: Measure
) -> list[dict[str, Cell]]:
    base = runs.scores("main", condition, reference, setting, measure.key)
    differences, p_values = {}, {}
    for system in runs.systems("main", condition):
        if system != reference:
            scores = runs.scores("main", condition, system, setting, measure.key)
            differences[system], p_values[system] = difference_cells(
                difference(scores, base), measure, reference
            )
    return [differences, p_values]
