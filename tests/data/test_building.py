"""A dataset of clips, whatever they were made of."""

from dataclasses import replace

import numpy as np
import pytest

from mmalign.data import Classification, Regression, dataset_from, load_dataset, write_native
from mmalign.errors import DataError
from tests.experts.made import DIMS, made_clips, made_dataset, with_holes

CLIPS = with_holes(made_clips(9, seed=0))


def test_task_dims_and_splits_are_found(tmp_path):
    parts = {"test": CLIPS[:3], "train": CLIPS[3:]}
    made = dataset_from(parts)
    assert made.task == Classification(("a", "b", "c"))
    assert made.dims == DIMS
    assert {name: split.ids for name, split in made.splits.items()} == {
        name: tuple(clip.id for clip in parts[name]) for name in ("train", "test")
    }
    write_native(made, tmp_path / "native")
    assert load_dataset(tmp_path / "native")["test"].labels.tolist() == [0, 1, 2]
    assert isinstance(dataset_from(made_clips(4, seed=0, numbers=True)).task, Regression)
    whole = made_dataset()
    assert dataset_from({name: whole[name] for name in whole.splits}).task == whole.task


def test_the_clip_that_differs_from_most_is_at_fault():
    clips = [{"wrist": np.zeros((2, 4 if n == 0 else 3)), "label": "ab"[n % 2]} for n in range(5)]
    with pytest.raises(DataError, match=r"clip clip0.*\[2, 4\]"):
        dataset_from(clips)


def test_nan_is_refused_or_cleaned():
    steps = CLIPS[0].sequences["wrist"].copy()
    steps[2] = np.nan
    bad = [replace(CLIPS[0], sequences={"wrist": steps}), *CLIPS[1:]]
    with pytest.raises(DataError, match=f"split train, clip {CLIPS[0].id}.*step 2.*non-finite"):
        dataset_from(bad)
    gapped = dataset_from(bad, non_finite="gap")["train"]
    assert np.flatnonzero(~gapped.observed("wrist")[0]).tolist() == [2]


def test_what_makes_no_dataset_is_said():
    with pytest.raises(DataError, match="there are no labels"):
        dataset_from([replace(clip, label=None) for clip in CLIPS])
    with pytest.raises(DataError, match="the id appears"):
        dataset_from({"train": CLIPS, "test": CLIPS})


def test_datasets_clips_and_splits_are_shown_in_a_line():
    data = made_dataset()
    assert repr(data) == (
        "Dataset(train 24, valid 9, test 12 clips; pose [4], wrist [3], voice [2]; "
        "3 classes: a, b, c)"
    )
    assert repr(data["test"]) == "Split(12 clips, labels; pose in 8, wrist in 8, voice in 8)"
    assert repr(replace(CLIPS[0], group="p")) == (
        "Clip('person0-0', 'a', no pose, wrist [25, 3], voice [10, 2], of p)"
    )
