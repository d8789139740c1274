"""Splits for data that came without them."""

import pytest

from mmalign.data import random_split, split_by, synthetic_twin
from mmalign.data.twin import TwinConfig
from mmalign.errors import ConfigError, DataError


@pytest.fixture
def data():
    return synthetic_twin(TwinConfig(clips=(200, 10, 10))).dataset


def test_every_clip_goes_where_the_chooser_says(data):
    dealt = split_by(data, lambda clip_id: "test" if clip_id.endswith("3") else "train")
    assert list(dealt.splits) == ["train", "test"]
    assert all(clip_id.endswith("3") for clip_id in dealt["test"].ids)
    assert sum(map(len, dealt.splits.values())) == 220
    source = {clip.id: clip for split in data.splits.values() for clip in split}
    for clip in dealt["test"]:
        assert clip.label == source[clip.id].label
        assert (clip.sequences["visible"] == source[clip.id].sequences["visible"]).all()


def test_none_leaves_a_clip_out(data):
    first = data["train"].ids[0]
    dealt = split_by(data, lambda clip_id: "train" if clip_id == first else None)
    assert dealt["train"].ids == (first,)


def test_another_name_is_refused(data):
    with pytest.raises(DataError, match="no split is called 'dev'"):
        split_by(data, lambda _: "dev")


def test_nothing_left_is_refused(data):
    with pytest.raises(DataError, match="no splits"):
        split_by(data, lambda _: None)


def test_random_shares_are_met_on_average_and_do_not_depend_on_order(data):
    ids = [f"clip-{number}" for number in range(10_000)]
    choose = random_split(valid=0.1, test=0.2)
    shares = [sum(choose(i) == name for i in ids) / len(ids) for name in ("train", "valid", "test")]
    assert shares == pytest.approx([0.7, 0.1, 0.2], abs=0.02)
    assert [choose(i) for i in reversed(ids)][::-1] == [choose(i) for i in ids]
    other = random_split(seed=1)
    assert [other(i) for i in ids] != [choose(i) for i in ids]


@pytest.mark.parametrize("shares", [{"valid": -0.1}, {"valid": 0.5, "test": 0.5}])
def test_shares_that_leave_nothing_for_train_are_refused(shares):
    with pytest.raises(ConfigError, match="train"):
        random_split(**shares)
