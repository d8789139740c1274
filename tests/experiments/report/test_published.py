"""The paper's numbers beside ours."""

import pytest

from mmalign.experiments.report.published import printed_cells, published_table, recognise
from mmalign.experiments.report.runs import Condition, read_runs
from tests.experiments.report.made import MOSI, Making, make_grid, regression

REGRESSION, CLASSES = {"kind": "regression"}, {"kind": "classification", "classes": ["a", "b"]}
MELD = {"train": 9989, "valid": 1109, "test": 2610}


def test_datasets_are_known_by_task_and_clips():
    assert recognise({"task": REGRESSION, "clips": MOSI}) == "CMU-MOSI"
    assert recognise({"task": CLASSES, "clips": MELD}) == "MELD"
    assert recognise({"task": CLASSES, "clips": MOSI}) is None
    assert recognise({"task": REGRESSION, "clips": {**MOSI, "test": 685}}) is None
    assert recognise({"task": REGRESSION, "clips": {"train": 1284}}) is None


@pytest.mark.parametrize(
    ("place", "values", "is_constant"),
    [
        (("CMU-MOSI", "text", "vision", 0.1, "A", "MM-Align", "mae"), ("1.028",), False),
        (("CMU-MOSI", "text", "audio", 0.1, "B", "MM-Align", "acc2"), ("76.6",), False),
        (("CMU-MOSI", "audio", "text", 0.1, "A", "LB", "acc2"), ("42.2",), True),
        (("CMU-MOSI", "vision", "audio", 0.1, "A", "UB", "acc2"), ("57.8",), True),
        (("CMU-MOSI", "vision", "text", 0.5, "A", "Modal-Trans", "mae"), ("1.398",), False),
        (("CMU-MOSI", "vision", "text", 0.1, "A", "MFM", "acc2"), ("42.2", "45.5"), True),
        (("CMU-MOSEI", "text", "audio", 0.5, "A", "MM-Align", "mae"), ("0.626",), False),
        (("MELD", "vision", "audio", 0.5, "A", "LB", "weighted_f1"), ("31.3",), True),
        (("MELD", "audio", "text", 0.5, "A", "MM-Align", "weighted_f1"), ("31.5", "45.5"), False),
        (("MELD", "text", "vision", 0.1, "A", "MM-Align", "weighted_f1"), ("54.2",), False),
    ],
)
def test_cells_are_as_printed(place, values, is_constant):
    printed = printed_cells()[place]
    assert printed.values == values
    assert printed.is_constant == is_constant


def test_every_table_of_the_paper_is_there():
    # 6 pairs, 6 systems; A and B at one rate and A at the other; two metrics or one.
    assert len(printed_cells()) == 6 * 6 * 3 * (2 + 2 + 1)


def test_printed_and_own_cells_stand_side_by_side_with_a_word_on_constants(tmp_path):
    making = regression(
        suites=("main",), seeds=(0, 1), pairs=(("acoustic", "visual"),), survivals=(0.1, 0.2)
    )
    runs = read_runs(make_grid(tmp_path / "g", making))
    table = published_table(runs, Condition("acoustic", "visual", 0.1), "t")
    rows = {row.title: row.cells for row in table.rows}
    assert rows["LB"][2].text == "42.2 *"
    assert "constant" in table.notes[0]
    assert rows["MM-Align"][0].text == "1.427"
    assert "±" in rows["MM-Align"][1].text
    assert rows["SMIL"][1].text == "–"
    assert published_table(runs, Condition("acoustic", "visual", 0.2), "t") is None


def test_other_data_is_not_compared(tmp_path):
    other = regression(
        suites=("main",), seeds=(0, 1), clips={"train": 1283, "valid": 229, "test": 686}
    )
    runs = read_runs(make_grid(tmp_path / "g", other))
    assert published_table(runs, Condition("text", "vision", 0.1), "t") is None
    watch = read_runs(make_grid(tmp_path / "h", Making(suites=("main",), seeds=(0, 1))))
    assert published_table(watch, Condition("accelerometer", "gyroscope", 0.1), "t") is None
