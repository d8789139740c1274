"""Subsets of modalities by systems: the heat map, and the same as numbers."""

from mmalign.experiments.report.main_tables import CONSTANT, difference_cell, score_cell
from mmalign.experiments.report.measures import Measure
from mmalign.experiments.report.pictures.heat import Heat, HeatCell, shares_of
from mmalign.experiments.report.runs import Runs
from mmalign.experiments.report.subset_scores import Subset, SubsetPanel, subset_title
from mmalign.experiments.report.table import ABSENT, Cell, Column, Row, Table
from mmalign.experiments.subset_suites import SUBSETS
from mmalign.experiments.systems import ANCHOR, LOWER, ONE_MODEL


def subset_heat(panel: SubsetPanel) -> Heat:
    """Means over seeds; below them the difference from the dedicated anchor."""
    measure = panel.measure
    means = {
        (subset_title(s), system): panel.mean(system, s)
        for s in panel.subsets
        for system in panel.systems
    }
    floors = {subset_title(s): panel.floor(s, measure) for s in panel.subsets}
    shares = shares_of(means, measure)
    cells = {
        (subset_title(subset), system): _cell(panel, subset, system, shares)
        for subset in panel.subsets
        for system in panel.systems
    }
    cells |= {(title, CONSTANT): HeatCell(floor, 0.0) for title, floor in floors.items()}
    return Heat(
        ", ".join(panel.modalities), list(floors), [*panel.systems, CONSTANT], cells, measure
    )


def _cell(
    panel: SubsetPanel, subset: Subset, system: str, shares: dict[tuple[str, str], float]
) -> HeatCell:
    own, anchor = panel.mean(system, subset), panel.mean(ANCHOR, subset)
    share = shares[subset_title(subset), system]
    if system == ANCHOR or anchor != anchor or own != own:
        return HeatCell(own, share)
    note = panel.measure.show_change(own - anchor)
    return HeatCell(own, share, note, panel.verdict(system, ANCHOR, subset) != 0)


def subset_table(panel: SubsetPanel, name: str) -> Table:
    """Mean ± sd of every system, the floor, and the one model minus the best dedicated system."""
    measure, runs = panel.measure, panel.runs
    standings = {one.subset: one for one in panel.standings()}
    columns = [Column(system, measure.heading) for system in (*panel.systems, CONSTANT)]
    versus = f"{ONE_MODEL} minus the best rival"
    columns += [Column("which", versus, is_prose=True), Column("difference [95 %]", versus)]
    is_redrawn = any(one.redrawn is not None for one in standings.values())
    columns += [Column("with clips resampled [95 %]", versus)] if is_redrawn else []
    rows = []
    for subset in panel.subsets:
        standing = standings.get(subset)
        told = [ABSENT] * (3 if is_redrawn else 2)
        if standing is not None:
            changes = (standing.change, standing.redrawn)[: len(told) - 1]
            told = [Cell(standing.rival), *(difference_cell(one, measure) for one in changes)]
        cells = _score_cells(panel, subset, measure, planned=len(runs.seeds(SUBSETS)))
        rows.append(Row(subset_title(subset), [*cells, *told]))
    title = f"{', '.join(panel.modalities)}: {measure.title}, mean ± sd over seeds"
    return Table(name, title, "Available", columns, rows)


def metric_table(panel: SubsetPanel, name: str) -> Table:
    """Every metric of every subset and system."""
    planned = len(panel.runs.seeds(SUBSETS))
    rows = [
        Row(
            f"{subset_title(subset)}: {system}",
            [
                score_cell(panel.scores(system, subset, measure), measure, planned=planned)
                for measure in panel.runs.measures
            ],
            starts_group=number == 0,
        )
        for subset in panel.subsets
        for number, system in enumerate(panel.systems)
    ]
    columns = [Column(measure.heading) for measure in panel.runs.measures]
    return Table(name, f"{', '.join(panel.modalities)}: all metrics", "Available", columns, rows)


def _score_cells(
    panel: SubsetPanel, subset: Subset, measure: Measure, *, planned: int
) -> list[Cell]:
    cells = [
        score_cell(panel.scores(system, subset, measure), measure, planned=planned)
        for system in panel.systems
    ]
    return [*cells, Cell(measure.show(panel.floor(subset, measure)))]


def how_subsets_are_read(runs: Runs, panel: SubsetPanel) -> list[str]:
    """What stands beside what, and what "clearly" means."""
    systems = (
        f"{ONE_MODEL.capitalize()} are trained once, on all training clips, and tested with each "
        "subset. Their rivals are trained separately for each subset, on the training clips that "
        "have it: "
        f"{ANCHOR} (sktime, 4,000 features, and a ridge; all sequences resampled to the median "
        f"length), and {LOWER}, the lower bound, which is the paper's network. The floor, "
        f"“{CONSTANT}”, always predicts the training majority or mean. All systems are scored on "
        "the test clips that have the subset."
    )
    redrawn = ", and outside the one over resampled seeds and test clips" * panel.is_redrawn
    clearly = (
        "“Clearly” means that 0 is outside the 95 % interval of the difference, paired over "
        f"{runs.seed_count(SUBSETS)}{redrawn}; there is no correction for the number of subsets. "
        "The interval does not cover the variation between people or videos."
    )
    beside = (
        f"In the map, the number below a score is its difference from {ANCHOR}, bold if clear."
        if ANCHOR in panel.systems
        else f"{ANCHOR} was not run: install mmalign[anchors] and run the same command again."
    )
    return [systems, f"{clearly} {beside}"]
