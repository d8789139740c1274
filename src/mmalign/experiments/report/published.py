"""The paper's printed numbers, and which of them say nothing."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from mmalign.data.missingness import SETTINGS
from mmalign.experiments.report.comparison import Panel
from mmalign.experiments.report.main_tables import score_cell
from mmalign.experiments.report.modalities import modality_of
from mmalign.experiments.report.runs import Condition, Runs
from mmalign.experiments.report.table import ABSENT, Cell, Column, Row, Table

CLIPS: Mapping[str, tuple[tuple[int, int, int], ...]] = {
    "CMU-MOSI": ((1284, 229, 686),),
    "CMU-MOSEI": ((16326, 1871, 4659),),
    "MELD": ((9989, 1109, 2610), (9988, 1108, 2610)),
}
"""Clips of train, valid and test; MELD with and without the clips that have no video."""

TASKS = {"CMU-MOSI": "regression", "CMU-MOSEI": "regression", "MELD": "classification"}
CONSTANTS: Mapping[tuple[str, str], frozenset[str]] = {
    ("CMU-MOSI", "acc2"): frozenset({"42.2", "57.8"}),
    ("MELD", "weighted_f1"): frozenset({"31.3"}),
}
"""Printed values that always saying positive, negative or the majority class scores on test."""

SYSTEMS = ("LB", "LB, complete split only", "MFM", "SMIL", "Modal-Trans", "MM-Align", "UB")
NOTES = (
    "Printed numbers stand beside ours where task and clips of every split agree. They are means "
    "of five seeds, with other features and hyper-parameters than ours: compare orders, not "
    "digits.",
    "Grey cells with a * are what a constant predictor scores on this test split: on MOSI always "
    "negative gives Acc-2 57.8 and always positive 42.2, on MELD the majority class gives weighted "
    "F1 31.3. They show no use of any modality.",
    "Where the paper's main table and its appendix print different values for one cell, both stand "
    "here, the main table's first.",
    "The paper's LB scores what a network trained on the complete clips alone scores; our LB is "
    "trained on all labelled clips, and “LB, complete split only” is nearer to the paper's.",
)


@dataclass(frozen=True)
class Printed:
    """A cell of the paper."""

    values: tuple[str, ...]
    is_constant: bool


def recognise(data: Mapping[str, Any]) -> str | None:
    """Which of the paper's datasets this is, by task and clips of each split; None if none."""
    clips = tuple(data["clips"].get(split) for split in ("train", "valid", "test"))
    for name, known in CLIPS.items():
        if clips in known and data["task"].get("kind") == TASKS[name]:
            return name
    return None


Place = tuple[str, str | None, str | None, float, str, str, str]
"""Dataset, visible, victim, survival, setting, system and metric."""


@cache
def printed_cells() -> dict[Place, Printed]:
    """Every printed cell."""
    found: dict[Place, Printed] = {}
    text = resources.files(__package__).joinpath("published.csv").read_text("utf-8")
    rows = csv.reader(text.splitlines()[1:])
    for dataset, _, visible, victim, survival, setting, system, metric, value in rows:
        place = dataset, visible, victim, float(survival), setting, system, metric
        before = found[place].values if place in found else ()
        values = tuple(dict.fromkeys((*before, value)))
        constants = CONSTANTS.get((dataset, metric), frozenset())
        found[place] = Printed(values, not constants.isdisjoint(values))
    return found


def published_table(runs: Runs, condition: Condition, name: str) -> Table | None:
    """Printed cells beside ours; None where the paper has none of this condition."""
    dataset = recognise(runs.grid.data)
    pair = modality_of(condition.visible), modality_of(condition.victim)
    if dataset is None or None in pair:
        return None
    panel = Panel(runs, "main", condition)
    measures = [m for m in runs.measures if m.key in ("mae", "acc2", "weighted_f1")]
    shown = [(setting, measure) for setting in SETTINGS for measure in measures]
    columns = [
        Column(f"{measure.heading} {source}", f"Setting {setting}")
        for setting, measure in shown
        for source in ("paper", "ours")
    ]
    rows = []
    for system in SYSTEMS:
        cells: list[Cell] = []
        for setting, measure in shown:
            place = dataset, *pair, condition.survival, setting, system, measure.key
            own = panel.scores(system, setting, measure)
            cells += [_paper_cell(place), score_cell(own, measure, planned=panel.seeds)]
        rows.append(Row(system, cells))
    if all(cell == ABSENT for row in rows for cell in row.cells[::2]):
        return None
    title = f"{dataset}, {condition.title}: printed and ours"
    return Table(name, title, "System", columns, rows, ("* what a constant predictor scores.",))


def _paper_cell(place: Place) -> Cell:
    printed = printed_cells().get(place)
    if printed is None:
        return ABSENT
    text = " / ".join(printed.values)
    return Cell(f"{text} *", is_faint=True) if printed.is_constant else Cell(text)
