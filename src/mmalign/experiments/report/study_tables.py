"""The main tables of a study as one Markdown page: a dataset and a pair at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np

from mmalign.data.missingness import SETTINGS
from mmalign.experiments.report.comparison import Panel, recovered_gap, verdict
from mmalign.experiments.report.main_tables import CONSTANT, difference_cell, score_cell
from mmalign.experiments.report.measures import percent
from mmalign.experiments.report.overview import count_all, count_table
from mmalign.experiments.report.rendering import escape_markdown, table_markdown
from mmalign.experiments.report.runs import Run, Runs, in_usual_order
from mmalign.experiments.report.table import ABSENT, Cell, Column, Row, Table
from mmalign.experiments.systems import FLOOR, LOWER, UPPER

Rates = Mapping[str, Mapping[str, Mapping[float, Sequence[float]]]]
"""Validation scores by dataset, system and learning rate; higher is better."""

BOUNDS = (LOWER, UPPER)
OF_THE_ROW = ("method", "seed", "learning_rate")
"""What a system and its control may differ in."""


def study_markdown(results: Mapping[str, Runs], rates: Rates | None = None) -> str:
    """One page: the count over all datasets, learning rates, costs, and the tables of every pair.

    Args:
        results: Runs by the title of their dataset.
        rates: What the learning rates were chosen by.
    """
    parts = [escape_markdown(count_all(results)), table_markdown(count_table(results))]
    if rates:
        parts += ["### Learning rates", table_markdown(learning_rate_table(rates))]
    parts += ["### Cost", table_markdown(study_cost_table(results))]
    for title, runs in results.items():
        for panels in _pairs(runs):
            place = panels[0].condition
            told = f"{title}: {place.visible} visible, {place.victim} may be missing"
            parts += [f"### {escape_markdown(told)}", *map(table_markdown, pair_tables(panels))]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def pair_tables(panels: Sequence[Panel]) -> list[Table]:
    """Scores, differences from zero-fill, LB and controls, and gaps of one pair.

    Args:
        panels: The pair under each of its survival rates.
    """
    runs = panels[0].runs
    systems = in_usual_order(s for panel in panels for s in panel.systems if panel.has(s))
    others = [system for system in systems if system not in BOUNDS]
    tables = [_score_table(panels, systems)]
    for rival in (FLOOR, LOWER):
        rivals = {system: rival for system in others if system != rival}
        tables.append(_difference_table(panels, rivals, f"Paired difference to {rival}"))
    controls = {system: _control(runs, system, systems) for system in others}
    known = {system: control for system, control in controls.items() if control}
    title = "Paired difference to zero-fill with the same switches"
    tables.append(_difference_table(panels, known, title))
    gap = "Share of the gap between LB and UB that is recovered"
    tables.append(_table(panels, "gap", gap, others, _gap_cell))
    return [table for table in tables if table.rows]


def study_cost_table(results: Mapping[str, Runs]) -> Table:
    """Parameters of the imputer, and seconds a run, by dataset."""
    found: dict[str, dict[str, list[Run]]] = {}
    for title, runs in results.items():
        for run in runs.of("main"):
            found.setdefault(run.entry.system, {}).setdefault(title, []).append(run)
    rows = []
    for system in in_usual_order(found):
        own = found[system]
        sizes = sorted({run.parameters["imputer"] for done in own.values() for run in done})
        cells = [Cell(", ".join(f"{size:,}" for size in sizes))]
        seconds = {title: np.mean([run.seconds for run in done]) for title, done in own.items()}
        cells += [Cell(f"{seconds[t]:.0f} s") if t in seconds else ABSENT for t in results]
        rows.append(Row(system, cells))
    columns = [Column("Imputer's parameters"), *(Column(t, "Seconds a run") for t in results)]
    return Table("study-costs", "Size and training time", "System", columns, rows)


def learning_rate_table(rates: Rates) -> Table:
    """Mean validation score of each learning rate, the best one in bold, by dataset."""
    tried = {
        title: sorted({rate for scores in systems.values() for rate in scores})
        for title, systems in rates.items()
    }
    rows = []
    for system in in_usual_order(s for systems in rates.values() for s in systems):
        cells: list[Cell] = []
        for title, systems in rates.items():
            means = {rate: float(np.mean(v)) for rate, v in systems.get(system, {}).items()}
            best = max(means, key=lambda rate: means[rate], default=None)
            cells += [
                Cell(f"{means[rate]:.3f}", is_best=rate == best) if rate in means else ABSENT
                for rate in tried[title]
            ]
        rows.append(Row(system, cells))
    columns = [Column(f"{rate:g}", title) for title, own in tried.items() for rate in own]
    return Table("learning-rates", "Mean validation score", "System", columns, rows)


def _score_table(panels: Sequence[Panel], systems: Sequence[str]) -> Table:
    measure = panels[0].runs.measures[0]
    constant = Cell(measure.show(panels[0].runs.floor(measure)))

    def cell(panel: Panel, system: str, setting: str) -> Cell:
        is_better = verdict(panel.difference(system, FLOOR, setting, measure), measure) > 0
        scores = panel.scores(system, setting, measure)
        return score_cell(scores, measure, planned=panel.seeds, is_best=is_better)

    way = "higher" if measure.is_higher_better else "lower"
    title = (
        f"{measure.title}, mean ± sd over {panels[0].runs.seed_count('main')}; {way} is better; "
        "in bold: clearly better than zero-fill"
    )
    table = _table(panels, "scores", title, systems, cell)
    return replace(table, rows=[Row(CONSTANT, [constant] * len(table.columns)), *table.rows])


def _difference_table(panels: Sequence[Panel], rivals: Mapping[str, str], title: str) -> Table:
    measure = panels[0].runs.measures[0]

    def cell(panel: Panel, system: str, setting: str) -> Cell:
        return difference_cell(panel.difference(system, rivals[system], setting, measure), measure)

    return _table(panels, "differences", f"{title}, 95 % interval", list(rivals), cell)


def _gap_cell(panel: Panel, system: str, setting: str) -> Cell:
    measure = panel.runs.measures[0]
    own, lower, upper = (panel.scores(s, setting, measure) for s in (system, LOWER, UPPER))
    gap = recovered_gap(own, lower, upper, measure)
    if gap.share != gap.share:
        return ABSENT
    return Cell(f"{100 * gap.share:.0f} %".replace("-", "−") if gap.is_real else "no gap")


def _table(
    panels: Sequence[Panel],
    name: str,
    title: str,
    systems: Sequence[str],
    cell: Callable[[Panel, str, str], Cell],
) -> Table:
    """Systems by survival rates and settings."""
    places = [(panel, setting) for panel in panels for setting in SETTINGS]
    columns = [Column(f"{percent(panel.condition.survival)}, {s}") for panel, s in places]
    rows = [Row(s, [cell(panel, s, setting) for panel, setting in places]) for s in systems]
    return Table(name, title, "System", columns, rows)


def _pairs(runs: Runs) -> list[list[Panel]]:
    """Panels of the main suite pair by pair, survival rates ascending."""
    found: dict[str, list[Panel]] = {}
    for condition in sorted(runs.conditions("main"), key=lambda c: c.survival):
        found.setdefault(condition.pair, []).append(Panel(runs, "main", condition))
    return [found[pair] for pair in dict.fromkeys(c.pair for c in runs.conditions("main"))]


def _control(runs: Runs, system: str, systems: Sequence[str]) -> str:
    """Zero-fill with the switches of a system; empty if there is no such row."""
    if runs.config(system).method == FLOOR:
        return ""
    controls = (s for s in systems if s != FLOOR and runs.config(s).method == FLOOR)
    own = _switches(runs, system)
    return next((control for control in controls if _switches(runs, control) == own), "")


def _switches(runs: Runs, system: str) -> dict[str, object]:
    config = asdict(runs.config(system))
    return {name: value for name, value in config.items() if name not in OF_THE_ROW}
