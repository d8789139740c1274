"""What differs between a dataset and what a model learned is told at once."""

from dataclasses import replace

import numpy as np
import pytest

from mmalign.data import Classification, Clip, Dataset, Regression
from mmalign.data.likeness import require_kind_of, require_modalities_of
from mmalign.data.split import Split
from mmalign.errors import DataError

DIMS = {"wrist": 3, "pose": 2}
TASK = Classification(("run", "walk"))


def made(dims: dict[str, int], labels=("run", "walk"), task=None) -> Dataset:
    """Two clips with these modalities and labels."""
    task = task or Classification(tuple(sorted(set(labels))))
    clips = [
        Clip(f"c{n}", label, {name: np.ones((2, dim), np.float32) for name, dim in dims.items()})
        for n, label in enumerate(labels)
    ]
    return Dataset(task, dims, {"test": Split.from_clips(clips, list(dims), task)})


@pytest.mark.parametrize("dims", [DIMS, {"pose": 2}, {"pose": 2, "gps": 1}, {"wrist": 3, "a": 7}])
def test_data_may_lack_modalities_and_have_others(dims):
    require_modalities_of(made(dims), DIMS)
    require_kind_of(made(dims), ["test"], DIMS, TASK)


@pytest.mark.parametrize(
    ("dims", "told"),
    [
        ({"ankle": 3}, r"it has ankle \[3\], the model reads wrist \[3\], pose \[2\]\. mmalign da"),
        ({"wrsit": 3}, r"reads wrist \[3\], pose \[2\] \(is wrsit wrist\?\)"),
        ({"wrist": 4, "pose": 9}, "wrist has 4 features, the model reads 3; pose has 9 features"),
    ],
)
def test_other_modalities_and_widths_are_told(dims, told):
    with pytest.raises(DataError, match=told):
        require_modalities_of(made(dims), DIMS)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            made(DIMS, (0.5, 1.5), Regression()),
            "its labels are numbers, the model predicts 2 classes: run, walk",
        ),
        (
            made(DIMS, ("run", "sit", "stand")),
            "its labels sit, stand are unknown to the model, which predicts 2 classes: run, walk",
        ),
        (made({"wrist": 4}, ("a", "b")), "wrist has 4 features.*; its labels a, b are unknown"),
        (made(DIMS, tuple(f"class{n:02}" for n in range(20))), "class06, class07, … are unknown"),
    ],
)
def test_another_task_is_told(data, told):
    with pytest.raises(DataError, match=f"these clips are not what the model learned: .*{told}"):
        require_kind_of(data, ["test"], DIMS, TASK)


def test_classes_that_no_clip_of_the_split_has_do_not_matter():
    three = Classification(("run", "sit", "walk"))
    require_kind_of(made(DIMS, task=three), ["test"], DIMS, TASK)
    bare = made(DIMS, task=three)
    bare = replace(bare, splits={"test": replace(bare["test"], labels=None)})
    require_kind_of(bare, ["test"], DIMS, TASK)
