"""MMSA and MMSA-FET: stored lengths, several labels, single clips."""

import pickle

import numpy as np
import pytest

from mmalign.data import Classification, Regression, load_dataset
from mmalign.errors import DataError


def write(tmp_path, value, name="unaligned_50.pkl"):
    (tmp_path / name).write_bytes(pickle.dumps(value))
    return tmp_path / name


def test_unaligned_files_bring_their_lengths(tmp_path, samples):
    data = load_dataset(samples.mmsa_unaligned(tmp_path))
    split = data["train"]
    assert split.lengths("text").tolist() == [3, 5, 2, 6]
    assert split.lengths("audio").tolist() == [4, 9, 3, 7]
    assert split.lengths("vision").tolist() == [5, 8, 1, 12]
    assert data.task == Regression(-3.0, 3.0)
    assert split[0].words == ["good", "movie"]
    assert split.ids[0] == f"{samples.videos['train']}$_$0"


def test_aligned_files_share_the_token_mask(tmp_path, samples):
    split = load_dataset(samples.mmsa_aligned(tmp_path))["valid"]
    for modality in ("text", "audio", "vision"):
        assert split.lengths(modality).tolist() == [3, 5, 2, 6]


def test_values_are_those_of_the_source(tmp_path, samples):
    value = samples.mmsa_value(aligned=False)
    data = load_dataset(write(tmp_path, value))
    for row, clip in enumerate(data["test"]):
        stored = value["test"]["audio"][row, : [4, 9, 3, 7][row]]
        np.testing.assert_array_equal(clip.sequences["audio"], stored.astype(np.float32))
        assert clip.label == np.float32(value["test"]["regression_labels"][row])


def test_nothing_is_cut_where_the_token_mask_is_too_short(tmp_path, samples):
    value = samples.mmsa_value(aligned=True)
    value["train"]["text_bert"][0, 1, 1:] = 0
    split = load_dataset(write(tmp_path, value))["train"]
    assert len(split[0].sequences["audio"]) == 3


@pytest.mark.parametrize(
    ("label", "task", "first"),
    [
        ("regression", Regression(-3.0, 3.0), -1.0),
        ("classification", Classification(("Negative", "Neutral", "Positive")), 0),
        ("annotations", Classification(("Negative", "Neutral", "Positive")), 0),
    ],
)
def test_labels_offer_a_choice(tmp_path, samples, label, task, first):
    data = load_dataset(samples.mmsa_unaligned(tmp_path), label=label)
    assert data.task == task
    assert data["train"].labels[0] == first


def test_sims_labels_of_single_modalities(tmp_path, samples):
    value = samples.mmsa_value(aligned=True)
    for content in value.values():
        content["regression_labels_V"] = np.array([0.5, -0.5, 0.0, 1.0])
    data = load_dataset(write(tmp_path, value), label="regression_labels_V")
    assert data["train"].labels.tolist() == [0.5, -0.5, 0.0, 1.0]


def test_an_unknown_label_is_answered_with_those_there_are(tmp_path, samples):
    with pytest.raises(DataError, match=r"annotations, classification_labels, regression_labels"):
        load_dataset(samples.mmsa_aligned(tmp_path), label="joy")


def test_a_file_without_labels_is_for_prediction(tmp_path, samples):
    value = samples.mmsa_value(aligned=True)
    for content in value.values():
        for key in ("regression_labels", "classification_labels", "annotations"):
            del content[key]
    assert load_dataset(write(tmp_path, value))["train"].labels is None


def test_a_single_clip_is_a_test_split_of_one(tmp_path, samples):
    data = load_dataset(samples.mmsa_clip(tmp_path))
    assert data["test"].ids == ("clip",)
    assert data["test"].labels is None
    assert data["test"].lengths("audio").tolist() == [9]


def test_lengths_of_another_number_of_clips_are_refused(tmp_path, samples):
    value = samples.mmsa_value(aligned=False)
    value["valid"]["audio_lengths"] = [1, 2]
    with pytest.raises(DataError, match="expected 4 lengths") as caught:
        load_dataset(write(tmp_path, value))
    assert (caught.value.split, caught.value.modality) == ("valid", "audio")
