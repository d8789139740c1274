"""MulT's files: padded arrays without lengths."""

import pickle

import numpy as np
import pytest

from mmalign.data import Classification, Regression, load_dataset
from mmalign.errors import DataError

LENGTHS = [3, 5, 2, 6]


def write(tmp_path, value, name="mosi_data.pkl"):
    (tmp_path / name).write_bytes(pickle.dumps(value))
    return tmp_path / name


@pytest.mark.parametrize("front", [True, False])
@pytest.mark.parametrize("aligned", [True, False])
def test_padding_is_stripped_on_the_side_where_it_is(tmp_path, samples, front, aligned):
    value = samples.mult_value(front=front, aligned=aligned)
    data = load_dataset(write(tmp_path, value))
    assert dict(data.dims) == {"text": 5, "vision": 3, "audio": 2}
    assert data.task == Regression(-3.0, 3.0)
    for name in ("train", "valid", "test"):
        for row, clip in enumerate(data[name]):
            for modality, steps in clip.sequences.items():
                stored = value[name][modality][row].astype(np.float32)
                kept = stored[-LENGTHS[row] :] if front else stored[: LENGTHS[row]]
                np.testing.assert_array_equal(steps, kept)
    assert any(("front" if front else "end") in note for note in data.notes)


def test_ids_of_bytes_are_joined(tmp_path, samples):
    data = load_dataset(samples.mult(tmp_path))
    assert data["train"].ids[1] == "train1_0.5_2.25"


def test_without_ids_clips_are_counted(tmp_path, samples):
    value = samples.mult_value()
    for content in value.values():
        del content["id"]
    assert load_dataset(write(tmp_path, value))["test"].ids[3] == "test-00003"


def test_a_zero_word_inside_a_clip_is_kept(tmp_path, samples):
    value = samples.mult_value(front=True)
    value["train"]["text"][1, 3] = 0
    clip = load_dataset(write(tmp_path, value))["train"][1]
    assert len(clip.sequences["text"]) == 5
    np.testing.assert_array_equal(clip.sequences["text"][2], 0)


def test_aligned_modalities_keep_their_step_where_one_begins_with_zeros(tmp_path, samples):
    value = samples.mult_value(front=True)
    value["train"]["vision"][1, :4] = 0
    clip = load_dataset(write(tmp_path, value))["train"][1]
    assert {len(steps) for steps in clip.sequences.values()} == {5}


def test_a_modality_of_zeros_is_missing_and_a_clip_of_zeros_left_out(tmp_path, samples):
    value = samples.mult_value(front=False, aligned=False)
    value["train"]["audio"][0] = 0
    for modality in ("text", "vision", "audio"):
        value["test"][modality][2] = 0
    data = load_dataset(write(tmp_path, value))
    assert data["train"][0].is_missing("audio")
    assert len(data["test"]) == 3
    assert any("audio of 1 clips" in note for note in data.notes)
    assert any("left out 1 clips" in note for note in data.notes)


def test_minus_infinity_is_located_and_can_be_cleaned(tmp_path, samples):
    value = samples.mult_value()
    value["valid"]["audio"][2, 5, 1] = -np.inf
    file = write(tmp_path, value)
    with pytest.raises(DataError, match=r"non-finite.*--non-finite zero") as caught:
        load_dataset(file)
    assert (caught.value.split, caught.value.modality, caught.value.step) == ("valid", "audio", 1)
    data = load_dataset(file, non_finite="zero")
    assert any("1 non-finite" in note for note in data.notes)


def test_iemocap_gives_four_classes_or_one_emotion(tmp_path, samples):
    file = samples.iemocap(tmp_path)
    assert load_dataset(file).task == Classification(("neutral", "happy", "sad", "angry"))
    chosen = load_dataset(file, label="sad")
    assert chosen.task == Classification(("no", "yes"))
    assert list(chosen["train"].labels) == [0, 0, 1, 0]


def test_emotions_that_are_not_exclusive_ask_for_a_choice(tmp_path, samples):
    file = samples.iemocap(tmp_path)
    value = pickle.loads(file.read_bytes())
    value["train"]["labels"][0] = [[0, 1]] * 4
    with pytest.raises(DataError, match="--label: neutral, happy, sad, angry"):
        load_dataset(write(tmp_path, value))


def test_seven_columns_offer_a_choice(tmp_path, samples):
    value = samples.mult_value()
    for content in value.values():
        content["labels"] = np.arange(28.0).reshape(4, 1, 7) / 10
    data = load_dataset(write(tmp_path, value), label="happy")
    np.testing.assert_allclose(data["train"].labels, [0.1, 0.8, 1.5, 2.2], rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda c: c.update(vision=c["vision"][:2]), "different numbers of clips"),
        (lambda c: c.update(audio=c["audio"][:, :, 0]), r"expected \[clips, time, dim\]"),
        (lambda c: c.update(labels=np.zeros(3)), "labels"),
        (lambda c: c.update(id=["a"]), "expected 4 ids"),
        (lambda c: c.update(text=c["text"][:, :, :4]), "modalities are"),
        (lambda c: c.update(labels=np.full((4, 1, 1), 9.0)), "outside"),
    ],
)
def test_a_malformed_split_is_named(tmp_path, samples, change, problem):
    value = samples.mult_value()
    change(value["test"])
    with pytest.raises(DataError, match=problem):
        load_dataset(write(tmp_path, value))


def test_a_split_without_a_modality_of_the_others_is_named(tmp_path, samples):
    value = samples.mult_value()
    del value["valid"]["audio"]
    with pytest.raises(DataError, match=r"split valid.*has text, vision, where train has"):
        load_dataset(write(tmp_path, value))
