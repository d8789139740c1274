"""Splits for data that came without them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data import (
    Dataset,
    Regression,
    Split,
    random_split,
    split_by,
    split_by_group,
    synthetic_twin,
)
from mmalign.data.splitting import with_test_from
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


@pytest.mark.parametrize(
    "shares", [{"valid": -0.1}, {"valid": 0.5, "test": 0.5}, {"test": float("nan")}]
)
def test_shares_that_leave_nothing_for_train_are_refused(shares):
    with pytest.raises(ConfigError, match="train"):
        random_split(**shares)


@st.composite
def grouped(draw):
    sizes = draw(st.lists(st.integers(1, 9), min_size=3, max_size=12))
    groups = tuple(f"p{number}" for number, size in enumerate(sizes) for _ in range(size))
    steps = [np.zeros((1, 1), np.float32)] * len(groups)
    ids = tuple(f"{group}-{row}" for row, group in enumerate(groups))
    split = Split(ids, np.zeros(len(ids), np.float32), {"m": steps}, groups=groups)
    return Dataset(Regression(), {"m": 1}, {"train": split})


@given(grouped(), st.floats(0.01, 0.4), st.floats(0.01, 0.4), st.integers(0, 9))
def test_no_group_is_in_two_splits_and_shares_are_near(data, valid, test, seed):
    dealt = split_by_group(data, valid=valid, test=test, seed=seed)
    whole = data["train"]
    sizes = Counter(whole.groups)
    assert set(dealt.splits) == {"train", "valid", "test"}
    assert sum(len(split) for split in dealt.splits.values()) == len(whole)
    owners = [set(split.groups) for split in dealt.splits.values()]
    assert sum(map(len, owners)) == len(sizes)
    for name, share in (("test", test), ("valid", valid)):
        # one group more would be further away, or all that is left is one group
        assert len(dealt[name]) <= max(
            share * len(whole) + max(sizes.values()) / 2, max(sizes.values())
        )
    by_id = split_by_group(
        data, valid=valid, test=test, seed=seed, groups=lambda i: i.split("-")[0]
    )
    assert [split.ids for split in by_id.splits.values()] == [
        split.ids for split in dealt.splits.values()
    ]


def test_groups_that_do_not_do_are_refused():
    twin = synthetic_twin(TwinConfig(clips=(6, 2, 2))).dataset
    with pytest.raises(DataError, match="does not name the person or video of each clip"):
        split_by_group(twin)
    with pytest.raises(DataError, match="3 splits need as many groups, there are 2"):
        split_by_group(twin, groups=lambda i: "one" if i.endswith("0") else "two")
    with pytest.raises(ConfigError, match="leave something for train"):
        split_by_group(twin, valid=0.5, test=0.5)


def test_the_test_comes_from_another_file_and_shares_nobody():
    mine, theirs = (smartwatch_like(people) for people in (("a", "b"), ("c",)))
    dealt = split_by_group(mine, valid=0.3, test=0)
    joined = with_test_from(dealt, theirs)
    assert set(joined["test"].groups) == {"c"}
    assert set(joined.splits) == {"train", "valid", "test"}
    with pytest.raises(DataError, match=r"split test: group 'b' is in .* as well"):
        with_test_from(dealt, smartwatch_like(("b", "c"), prefix="other"))
    with pytest.raises(DataError, match="another task or other modalities"):
        with_test_from(dealt, replace(theirs, task=Regression(0, 1)))


def smartwatch_like(people, prefix="clip"):
    steps = [np.zeros((1, 1), np.float32)] * len(people)
    ids = tuple(f"{prefix}-{person}" for person in people)
    split = Split(ids, np.zeros(len(ids), np.float32), {"m": steps}, groups=tuple(people))
    return Dataset(Regression(), {"m": 1}, {"train": split})
