"""NaN and infinity are located, refused, or cleaned and counted."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data import GapProtocol, Split, non_finite, split_by
from mmalign.data.intake import labelled
from mmalign.data.non_finite import apply_policy, find_non_finite, require_finite
from mmalign.errors import DataError
from tests.data.datasets import datasets, small_dataset

BAD = st.sampled_from([np.nan, np.inf, -np.inf])


def poison(dataset, split, row, modality, step, feature, value):
    part = dataset[split]
    column = list(part.sequences[modality])
    column[row] = column[row].copy()
    column[row][step, feature] = value
    poisoned = replace(part, sequences={**part.sequences, modality: column})
    return replace(dataset, splits={**dataset.splits, split: poisoned})


@given(datasets(), st.data())
def test_one_bad_value_is_located_exactly(dataset, data):
    split = data.draw(st.sampled_from(sorted(dataset.splits)))
    row = data.draw(st.integers(0, len(dataset[split]) - 1))
    clip = dataset[split][row]
    modality = data.draw(st.sampled_from([m for m in dataset.dims if not clip.is_missing(m)]))
    step = data.draw(st.integers(0, len(clip.sequences[modality]) - 1))
    feature = data.draw(st.integers(0, dataset.dims[modality] - 1))
    bad = poison(dataset, split, row, modality, step, feature, data.draw(BAD))
    (found,) = find_non_finite(bad)
    assert (found.split, found.modality, found.values, found.clips) == (split, modality, 1, 1)
    assert (found.first_clip, found.first_step, found.first_feature) == (clip.id, step, feature)
    with pytest.raises(DataError) as caught:
        apply_policy(bad, "reject")
    places = caught.value
    assert (places.clip, places.modality, places.step, places.feature) == (
        clip.id,
        modality,
        step,
        feature,
    )


@pytest.mark.parametrize("policy", ["zero", "clip"])
def test_cleaning_changes_bad_values_only_and_counts_them(policy):
    dataset = small_dataset()
    bad = poison(dataset, "train", 0, "text", 1, 2, np.nan)
    bad = poison(bad, "test", 2, "text", 0, 0, np.inf)
    clean = apply_policy(bad, policy)
    assert clean.is_finite
    assert find_non_finite(clean) == []
    assert any("2 non-finite values of text" in note for note in clean.notes)
    assert clean["train"].sequences["text"][0][1, 2] == 0
    expected = dataset["test"].sequences["text"][2].copy()
    train = np.concatenate([s for s in dataset["train"].sequences["text"] if s is not None])
    expected[0, 0] = 0 if policy == "zero" else train[:, 0].max()
    assert np.array_equal(clean["test"].sequences["text"][2], expected)


def test_clip_replaces_minus_infinity_by_the_smallest_training_value():
    dataset = small_dataset()
    clean = apply_policy(poison(dataset, "valid", 0, "text", 0, 3, -np.inf), "clip")
    train = np.concatenate(dataset["train"].sequences["text"])
    assert clean["valid"].sequences["text"][0][0, 3] == train[:, 3].min()


def test_finite_data_is_untouched():
    dataset = small_dataset()
    clean = apply_policy(dataset, "zero")
    for name, split in dataset.splits.items():
        for modality, sequences in split.sequences.items():
            pairs = zip(clean[name].sequences[modality], sequences, strict=True)
            assert all(now is before for now, before in pairs)


@pytest.fixture
def scans(monkeypatch) -> list[str]:
    """Modalities in the order in which they are searched for non-finite values."""
    found: list[str] = []
    scan = non_finite._scan

    def counted(name, split, modality):
        found.append(modality)
        return scan(name, split, modality)

    monkeypatch.setattr(non_finite, "_scan", counted)
    return found


def test_a_checked_split_is_not_scanned_again(scans):
    clean = apply_policy(small_dataset(), "reject")
    assert scans
    scans.clear()
    train = clean["train"]
    derived = [train, train.select([1, 0]), train.only(train.modalities[:1])]
    derived += [train.without(train.modalities[0], set(train.ids)), train.select([0]).select([0])]
    derived += [labelled(train, train.modalities, clean.task)]
    for split in derived:
        require_finite(split)
    apply_policy(clean, "reject")
    apply_policy(split_by(clean, lambda _: "train"), "reject")
    assert scans == []


def test_new_arrays_are_scanned_whatever_was_known_of_the_old_ones(scans):
    clean = apply_policy(small_dataset(), "reject")
    scans.clear()
    bad = poison(clean, "train", 0, clean.modalities[0], 0, 0, np.nan)
    assert not bad.is_finite
    with pytest.raises(DataError, match="non-finite value"):
        apply_policy(bad, "reject")
    with pytest.raises(
        DataError,
        match=r"step 0, feature 0: non-finite value \(.* 3\.4e38\)\. Clean it.* to MMAlign",
    ):
        require_finite(bad["train"])
    again = Split.from_clips(list(clean["train"]), clean.modalities, clean.task)
    assert not again.is_finite


def test_gap_takes_steps_with_bad_values_as_missing_and_counts_them():
    dataset = small_dataset()
    bad = poison(dataset, "train", 0, "text", 1, 2, np.inf)
    bad = poison(bad, "train", 3, "text", 0, 0, np.nan)
    for step in range(3):
        bad = poison(bad, "test", 2, "audio", step, 1, np.nan)
    torn = apply_policy(bad, "gap")
    assert torn.is_finite
    assert find_non_finite(torn) == []
    assert torn["train"].gapped == {"text"}
    assert torn["test"].gapped == {"audio"}
    assert torn["test"].sequences["audio"][2] is None
    steps = torn["train"].sequences["text"][0]
    assert np.isnan(steps[1]).all()
    assert np.array_equal(steps[0], dataset["train"].sequences["text"][0][0])
    assert torn.notes == (
        "2 non-finite steps of text taken as gaps",
        "3 non-finite steps of audio taken as gaps",
        "1 sequence of audio without a finite step taken as missing",
    )


def test_gap_refuses_a_clip_of_which_nothing_is_left():
    bad = small_dataset()
    for step in range(3):
        bad = poison(bad, "train", 1, "text", step, 0, np.nan)  # which has no audio
    with pytest.raises(DataError, match="clip train1: every modality is missing"):
        apply_policy(bad, "gap")


@pytest.mark.parametrize("policy", ["zero", "clip", "gap"])
def test_cleaning_other_values_leaves_gaps_as_they_are(policy):
    torn = GapProtocol(rate=0.4, mean_length=2).apply(small_dataset())
    row, step = next(
        (row, int(np.flatnonzero(observed)[0]))
        for row, observed in enumerate(torn["train"].observed("text"))
        if 1 < observed.sum() < len(observed)
    )
    clean = apply_policy(poison(torn, "train", row, "text", step, 1, np.inf), policy)
    before, after = (data["train"].observed("text")[row] for data in (torn, clean))
    assert after[step] == (policy != "gap")
    assert np.array_equal(np.delete(before, step), np.delete(after, step))


def test_reject_names_every_way_out():
    bad = poison(small_dataset(), "train", 0, "text", 0, 0, np.nan)
    with pytest.raises(
        DataError, match="--non-finite zero, --non-finite clip, or --non-finite gap"
    ):
        apply_policy(bad, "reject")
