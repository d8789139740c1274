"""Bad data is refused with its place and a way out."""

import math
from dataclasses import replace

import numpy as np
import pytest

import mmalign
from mmalign.data import Classification, Clip, Dataset, Regression, Split
from mmalign.data.validation import validate
from mmalign.errors import DataError
from tests.data.datasets import small_dataset


def steps(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def one_split(*clips: Clip, name="train") -> Dataset:
    task, dims = Regression(), {"text": 2, "audio": 3}
    return Dataset(task, dims, {name: Split.from_clips(clips, list(dims), task)})


GOOD = Clip("good", 0.0, {"text": steps(2, 2), "audio": steps(1, 3)})


def test_a_sound_dataset_passes_unchanged():
    dataset = small_dataset()
    assert validate(dataset) is dataset


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (lambda: Dataset(Regression(), {"text": 2}, {}), "no splits"),
        (lambda: one_split(), "split train: the split is empty"),
        (lambda: one_split(GOOD, name="holdout"), "unknown split 'holdout'"),
        (lambda: one_split(GOOD, GOOD), "split train, clip good: the id appears twice"),
        (lambda: one_split(replace(GOOD, id="")), "empty id"),
        (
            lambda: one_split(Clip("x", 0.0, {"text": None, "audio": None})),
            "clip x: every modality is missing",
        ),
        (
            lambda: one_split(Clip("x", 0.0, {"text": steps(0, 2), "audio": None})),
            "clip x, modality text: the sequence has no steps",
        ),
        (
            lambda: one_split(Clip("x", 0.0, {"text": steps(3, 5), "audio": None})),
            r"clip x, modality text: expected \[time, 2\], got \[3, 5\]",
        ),
    ],
)
def test_unsound_datasets_are_refused(dataset, message):
    with pytest.raises(DataError, match=message):
        validate(dataset())


def test_an_id_in_two_splits_is_refused():
    split = Split.from_clips([GOOD], ["text", "audio"], Regression())
    dataset = Dataset(Regression(), {"text": 2, "audio": 3}, {"train": split, "test": split})
    with pytest.raises(DataError, match="in train as well"):
        validate(dataset)


@pytest.mark.parametrize("label", [np.nan, np.inf, 3.5, -4.0])
def test_numbers_out_of_range_are_refused(label):
    split = Split(("x",), np.array([label], np.float32), {"text": [steps(1, 2)]})
    with pytest.raises(DataError, match="clip x: label"):
        validate(Dataset(Regression(-3, 3), {"text": 2}, {"train": split}))


@pytest.mark.parametrize("label", [-1, 2])
def test_classes_out_of_range_are_refused(label):
    split = Split(("x",), np.array([label]), {"text": [steps(1, 2)]})
    with pytest.raises(DataError, match="Classes count from 0; this task has 2"):
        validate(Dataset(Classification(("a", "b")), {"text": 2}, {"train": split}))


def test_encoding_names_the_clip():
    with pytest.raises(DataError, match="clip x: label 'c' is none of a, b"):
        Split.from_clips([Clip("x", "c", {})], [], Classification(("a", "b")))


def test_a_label_for_some_clips_only_is_refused():
    with pytest.raises(DataError, match="clip y: no label"):
        Split.from_clips([Clip("x", 1.0, {}), Clip("y", None, {})], [], Regression())


def test_features_become_float32_and_must_be_a_table():
    split = Split.from_clips([Clip("x", None, {"a": np.ones((2, 3))})], ["a"], Regression())
    assert split.sequences["a"][0].dtype == np.float32
    with pytest.raises(DataError, match=r"clip x, modality a: expected \[time, dim\], got \[2\]"):
        Split.from_clips([Clip("x", None, {"a": np.ones(2)})], ["a"], Regression())
    with pytest.raises(DataError, match="clip x, modality a: not numbers"):
        Split.from_clips([Clip("x", None, {"a": np.array([["b"]])})], ["a"], Regression())


def test_unlabelled_clips_have_no_labels():
    assert Split.from_clips([Clip("x", None, {})], [], Regression()).labels is None


@pytest.mark.parametrize("label", [1e19, -1e19, 1e30, 1e300, math.inf, math.nan, 10**400])
def test_labels_whose_squares_are_no_numbers_are_refused(label):
    with pytest.raises(DataError, match="label"):
        Regression().encode(label)
    clips = [Clip(str(n), label if n == 3 else 1.0, {"a": np.ones((2, 3))}) for n in range(6)]
    with pytest.raises(DataError, match="label"):
        mmalign.MMAlign(epochs=1).fit(clips)


def test_large_labels_that_can_be_learned_are_taken():
    assert Regression().encode(-9e17) == np.float32(-9e17)
