"""MM-Align's resplit groups: a dataset, and masks for any pair of modalities."""

import pytest

from mmalign.data import load_dataset
from mmalign.data.readers.resplit import read_masks
from mmalign.errors import DataError


def test_a_group_holds_every_clip_of_both_files(tmp_path, samples):
    data = load_dataset(samples.resplit(tmp_path))
    assert {name: len(split) for name, split in data.splits.items()} == {
        "train": 4,
        "valid": 4,
        "test": 4,
    }
    assert dict(data.dims) == {"text": 5, "visual": 3, "acoustic": 2}
    assert any("read_masks" in note for note in data.notes)


@pytest.mark.parametrize("up", ["", "..", "../.."])
def test_the_only_group_is_found_from_above(tmp_path, samples, up):
    assert len(load_dataset(samples.resplit(tmp_path) / up)["train"]) == 4


def test_several_groups_ask_for_one(tmp_path, samples):
    group = samples.resplit(tmp_path)
    (group.parent / "group_2").mkdir()
    with pytest.raises(DataError, match=r"several groups: group_1, group_2"):
        load_dataset(group.parent)


@pytest.mark.parametrize(("survival", "kept"), [(0.25, 1), (0.5, 2)])
def test_masks_name_the_clips_of_the_missing_files(tmp_path, samples, survival, kept):
    group = samples.resplit(tmp_path)
    masks = read_masks(group, visible="text", victim="visual", survival=survival, setting="B")
    for split, source in (("train", "train"), ("valid", "dev"), ("test", "test")):
        rows = samples.misa_rows(source)
        assert list(masks.missing[split]) == [row[2] for row in rows[kept:]]
    pair = masks.apply(load_dataset(group))
    assert pair["train"].is_present("visual").sum() == kept
    assert pair["train"].is_present("text").all()
    assert masks.protocol.seed == 1


def test_in_setting_a_nothing_survives_outside_train(tmp_path, samples):
    group = samples.resplit(tmp_path)
    masks = read_masks(group, visible="text", victim="acoustic", survival=0.5)
    pair = masks.apply(load_dataset(group))
    assert pair["train"].is_present("acoustic").sum() == 2
    assert not pair["test"].is_present("acoustic").any()


def test_other_rates_are_refused_with_those_there_are(tmp_path, samples):
    group = samples.resplit(tmp_path)
    with pytest.raises(DataError, match=r"There are 0\.25, 0\.5"):
        read_masks(group, visible="text", victim="visual", survival=0.1)


def test_a_folder_without_such_files_is_refused(tmp_path):
    with pytest.raises(DataError, match="train_complete_10"):
        read_masks(tmp_path, visible="text", victim="visual", survival=0.1)
