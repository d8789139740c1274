"""Groups are told by a list or a function; what tells none is refused."""

import numpy as np
import pandas as pd
import pytest

from mmalign.data import Classification, Clip
from mmalign.data.grouping import with_groups
from mmalign.data.split import Split
from mmalign.errors import DataError

CLIPS = [Clip(f"clip{n}", "ab"[n % 2], {"wrist": np.ones((2, 1))}, group="own") for n in range(3)]
SPLIT = Split.from_clips(CLIPS, ["wrist"], Classification(("a", "b")))


@pytest.mark.parametrize(
    "groups",
    [
        ["x", "y", "x"],
        ("x", "y", "x"),
        np.array(["x", "y", "x"]),
        pd.Series(["x", "y", "x"], index=[7, 8, 9]),
        iter("xyx"),
        {"clip0": "x", "clip1": "y", "clip2": "x"}.get,
    ],
    ids=["list", "tuple", "array", "series", "iterator", "function"],
)
def test_each_clip_gets_the_group_that_is_told(groups):
    told = [clip.group for clip in with_groups(CLIPS, groups)]
    assert told == ["x", "y", "x"]
    assert with_groups(SPLIT, told).groups == ("x", "y", "x")


def test_numbers_name_groups_too_and_none_leaves_the_clips_as_they_are():
    assert with_groups(SPLIT, np.array([1, 2, 1])).groups == ("1", "2", "1")
    assert with_groups(SPLIT, None) is SPLIT
    assert with_groups(CLIPS, None) is CLIPS


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        (["x", "y"], "2 groups for 3 clips. Give one person or video per clip"),
        (["x"], "1 group for 3 clips"),
        ("xyx", "groups cannot be told by str"),
        (5, "groups cannot be told by int"),
        ({"clip0": "x"}, "groups cannot be told by dict.*function"),
        (np.ones((3, 2)), "groups cannot be told by ndarray"),
        (["x", None, "y"], "clip clip1: no group is told"),
        ([1.0, 2.0, float("nan")], "clip clip2: no group is told"),
        ({"clip0": "x"}.get, "clip clip1: no group is told"),
    ],
    ids=["two", "one", "text", "number", "dict", "table", "none", "nan", "function"],
)
def test_what_tells_no_groups_is_refused(groups, problem):
    for rows in (CLIPS, SPLIT):
        with pytest.raises(DataError, match=problem):
            with_groups(rows, groups)
