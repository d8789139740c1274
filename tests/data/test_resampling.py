"""Sequences averaged to a number of steps."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data.resampling import resampled, squeezed, squeezed_gapped
from tests.training.small import small_dataset


@given(st.integers(1, 40), st.integers(1, 40))
def test_every_step_is_a_mean_of_its_share_of_the_time(length, steps):
    sequence = np.arange(length, dtype=np.float32)[:, None]
    found = squeezed(sequence, steps)
    assert found.shape == (steps, 1)
    assert (np.diff(found[:, 0]) >= 0).all()
    assert found[0, 0] >= 0
    assert found[-1, 0] <= length - 1
    if length % steps == 0:  # shares do not overlap: the mean is kept
        np.testing.assert_allclose(found.mean(), sequence.mean(), rtol=1e-6)


def test_as_many_steps_as_there_are_change_nothing():
    sequence = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    np.testing.assert_array_equal(squeezed(sequence, 7), sequence)


def test_missing_sequences_stay_missing():
    dataset = small_dataset()
    train = dataset["train"]
    holes = replace(train.without("victim", train.ids[:2]), words=[["a"]] * len(train))
    found = resampled(replace(dataset, splits={**dataset.splits, "train": holes}), 4)["train"]
    assert found.is_present("victim").tolist() == holes.is_present("victim").tolist()
    assert set(found.lengths("visible")) == {4}
    assert found.words is None


def test_gaps_have_no_say_in_a_mean():
    sequence = np.array([[1], [np.nan], [np.nan], [np.nan], [5], [7]], np.float32)
    np.testing.assert_array_equal(squeezed_gapped(sequence, 3)[:, 0], [1, np.nan, 6])
    train = small_dataset()["train"]
    torn = replace(train, gapped=frozenset({"visible"}))
    dataset = replace(small_dataset(), splits={"train": torn})
    found = resampled(dataset, 4)["train"]
    assert found.gapped == {"visible"}
    for name in train.modalities:  # without a single gap, nothing changes
        for steps, other in zip(found.sequences[name], train.sequences[name], strict=True):
            np.testing.assert_array_equal(steps, squeezed(other, 4))
