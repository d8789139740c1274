"""Batches: every clip once, zeros in the padding, an order that seed and epoch decide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data import Batches, Dataset, Regression, Split, batches
from mmalign.data.batching import pad
from mmalign.errors import ConfigError
from tests.data.datasets import datasets


@given(datasets(max_clips=12), st.integers(1, 8), st.integers(0, 5), st.integers(0, 3))
def test_an_epoch_holds_every_clip_once_as_it_is(dataset, size, seed, epoch):
    for name, split in dataset.splits.items():
        rows = {clip.id: clip for clip in split}
        seen = []
        for batch in batches(dataset, name, batch_size=size, seed=seed).epoch(epoch):
            assert 1 <= len(batch) <= size
            for index, clip_id in enumerate(batch.ids):
                seen.append(clip_id)
                assert batch.labels[index] == rows[clip_id].label
                for modality, features in batch.features.items():
                    steps = rows[clip_id].sequences[modality]
                    length = batch.lengths[modality][index]
                    assert length == (0 if steps is None else len(steps))
                    assert batch.is_present(modality)[index] == (steps is not None)
                    assert (features[index, length:] == 0).all()
                    if steps is not None:
                        assert np.array_equal(features[index, :length], steps)
        assert sorted(seen) == sorted(split.ids)


@given(datasets(max_clips=12), st.integers(0, 5), st.integers(0, 5))
def test_the_order_is_a_function_of_seed_and_epoch(dataset, seed, epoch):
    name = next(iter(dataset.splits))
    first, second = (batches(dataset, name, batch_size=3, seed=seed) for _ in range(2))
    list(first.epoch(epoch + 1))  # what was asked before must not matter
    assert first.order(epoch) == second.order(epoch)


def ragged(count: int) -> Dataset:
    random = np.random.default_rng(1)
    lengths = random.integers(1, 60, count)
    steps = [np.full((n, 2), np.float32(n)) for n in lengths]
    split = Split(tuple(map(str, range(count))), None, {"a": steps})
    return Dataset(Regression(), {"a": 2}, {"train": split})


def test_epochs_differ_and_buckets_save_padding():
    made = batches(ragged(1000), "train", batch_size=20)
    assert made.order(0) != made.order(1)
    padded = sum(batch.features["a"].size for batch in made.epoch(0))
    real = sum(int(batch.lengths["a"].sum()) * 2 for batch in made.epoch(0))
    assert padded < 1.1 * real
    unsorted = sum(batch.features["a"].size for batch in made.in_order())
    assert unsorted > 1.5 * real


def test_in_order_keeps_the_order():
    made = batches(ragged(10), "train", batch_size=4)
    assert [clip_id for batch in made.in_order() for clip_id in batch.ids] == list(
        map(str, range(10))
    )
    assert len(made) == 3


def test_padding_is_zero_whatever_the_source_held():
    """Views into a larger array must not drag their neighbours in."""
    block = np.full((10, 2), np.nan, np.float32)
    block[:2] = 1
    padded, _ = pad([block[:2], np.ones((5, 2), np.float32)], 2)
    assert np.isfinite(padded).all()
    assert (padded[0, 2:] == 0).all()


def test_a_modality_that_nobody_has_is_empty():
    padded, lengths = pad([None, None], 3)
    assert padded.shape == (2, 0, 3)
    assert lengths.tolist() == [0, 0]


def test_nonsense_is_refused():
    with pytest.raises(ConfigError, match="batch_size"):
        Batches(ragged(3)["train"], {"a": 2}, batch_size=0)
