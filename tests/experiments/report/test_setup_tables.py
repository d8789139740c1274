"""Data, masks, configuration, costs: what one needs to run it again."""

import pytest

from mmalign.data import Protocol
from mmalign.experiments.report.runs import read_runs
from mmalign.experiments.report.setup_tables import (
    change_table,
    config_table,
    cost_table,
    data_table,
    mask_code,
    mask_table,
    progress_table,
)
from tests.experiments.report.made import Making, make_grid
from tests.training.small import small_dataset

CLIPS = {"train": 48, "valid": 16, "test": 16}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    making = Making(
        suites=("main", "window", "speed"),
        survivals=(0.3,),
        seeds=(0, 1, 2, 7),
        settings={"epochs": 3},
        clips=CLIPS,
        path="/home/somebody/data/watch/",
    )
    return read_runs(make_grid(tmp_path_factory.mktemp("grids") / "g", making))


def rows_of(table):
    return {row.title: [cell.text for cell in row.cells] for row in table.rows}


def test_masks_count_what_the_protocol_takes_away(runs):
    dataset = small_dataset()
    assert {name: len(split) for name, split in dataset.splits.items()} == CLIPS
    (cells,) = rows_of(mask_table(runs)).values()
    expected = []
    for setting in ("A", "B"):
        masks = Protocol(visible="visible", victim="victim", survival=0.3, setting=setting)
        missing = masks.masks(dataset).missing
        expected += [f"{CLIPS[s] - len(missing[s])} / {len(missing[s])}" for s in CLIPS]
    assert cells == expected
    assert next(iter(rows_of(mask_table(runs)))).endswith("seeds 0–2, 7")


def test_the_code_for_masks_is_the_protocol_itself(runs):
    code = mask_code(runs).removeprefix("mmalign.data.").removesuffix(".masks(dataset)")
    made = eval(code, {"PairProtocol": Protocol})
    assert (made.visible, made.victim) == ("accelerometer", "gyroscope")
    assert (made.survival, made.seed) == (0.3, 0)


def test_shared_settings_and_changes_stand_apart(runs):
    shared = rows_of(config_table(runs))
    assert shared["epochs"] == ["3", "41"]
    assert "window" not in shared  # the window suite changes it
    assert not {"seed", "method"} & set(shared)
    changes = {row.title: row.cells[1].text for row in change_table(runs).rows}
    assert changes["MM-Align, improved"].startswith("method = mmalign")
    assert "both_passes = on" in changes["MM-Align, improved"]
    assert changes["16"] == "method = mmalign, window = 16"


def test_names_of_data_hold_no_path_of_a_machine(runs):
    assert runs.name == "watch"
    assert "somebody" not in str(rows_of(data_table(runs)))
    assert rows_of(data_table(runs))["SHA-256 of the content"] == [runs.grid.data["hash"]]


def test_costs_and_progress(runs):
    assert rows_of(cost_table(runs))["MM-Align"] == ["53,959", "6,000", "19.5 ± 3.1", "15.0 ± 3.1"]
    assert rows_of(progress_table(runs))["speed"] == ["1", "0", "0"]
