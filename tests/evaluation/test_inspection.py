"""Inspection tells what is in the data, and what knowing nothing scores."""

import json

import numpy as np
import pytest

from mmalign.data import Classification, Clip, Dataset, Split
from mmalign.evaluation.floors import constant_floor
from mmalign.evaluation.inspection import inspect_dataset
from tests.data.datasets import small_dataset
from tests.data.test_non_finite import poison


def test_it_counts_clips_lengths_and_missing_ones():
    description = inspect_dataset(small_dataset())
    train = description["splits"]["train"]
    assert train["clips"] == 6
    assert train["modalities"]["audio"]["missing"] == 1
    assert train["modalities"]["text"]["length_quantiles"] == [2, 3, 4, 6, 7]
    assert sum(train["labels"].values()) == 6
    assert json.loads(json.dumps(description, allow_nan=False)) == description


def test_it_locates_non_finite_values():
    bad = poison(small_dataset(), "valid", 2, "audio", 1, 0, np.nan)
    (found,) = inspect_dataset(bad)["non_finite"]
    assert (found["first_clip"], found["first_step"], found["first_feature"]) == ("valid2", 1, 0)


def test_it_names_features_that_never_change():
    steps = np.array([[1, 5], [2, 5]], np.float32)
    split = Split.from_clips(
        [Clip("a", 0, {"x": steps}), Clip("b", 1, {"x": np.array([[2, 5], [9, 5]])})],
        ["x"],
        Classification(("n", "y")),
    )
    dataset = Dataset(Classification(("n", "y")), {"x": 2}, {"train": split})
    assert inspect_dataset(dataset)["modalities"]["x"]["constant_features"] == [1]


def test_the_floor_is_learned_on_train_and_scored_elsewhere():
    dataset = small_dataset()
    floor = inspect_dataset(dataset)["splits"]["test"]["floor"]
    mean = dataset["train"].labels.mean()
    assert floor["mae"] == pytest.approx(np.abs(dataset["test"].labels - mean).mean())


def test_the_majority_floor_uses_the_training_majority():
    task = Classification(("a", "b"))
    scores = constant_floor(task, np.array([0, 0, 1]), np.array([1, 1, 1, 0]))
    assert scores["accuracy"] == pytest.approx(0.25)


def test_it_counts_gaps():
    steps = np.array([[1, 5], [2, 5], [3, 5]], np.float32)
    clips = [
        Clip("a", 0, {"x": steps}, observed={"x": np.array([True, False, False])}),
        Clip("b", 1, {"x": steps}),
    ]
    task = Classification(("n", "y"))
    dataset = Dataset(task, {"x": 2}, {"train": Split.from_clips(clips, ["x"], task)})
    description = inspect_dataset(dataset)
    found = description["splits"]["train"]["modalities"]["x"]
    assert (found["gap_steps"], found["gap_clips"], found["missing"]) == (2, 1, 0)
    assert description["non_finite"] == []
    assert description["modalities"]["x"]["constant_features"] == [1]
