"""Plain npz files: flat or padded arrays, and what the other arrays are."""

import numpy as np
import pytest

from mmalign.data import Classification, Regression, load_dataset, split_by
from mmalign.errors import DataError


def save(tmp_path, **arrays):
    np.savez(tmp_path / "own.npz", **arrays)
    return tmp_path / "own.npz"


def test_flat_arrays_are_cut_by_their_lengths(tmp_path, samples):
    data = load_dataset(samples.npz_flat(tmp_path))
    stored = np.load(tmp_path / "own.npz")
    assert dict(data.dims) == {"wrist": 3, "pose": 2}
    assert data["train"].lengths("wrist").tolist() == [3, 5, 2, 4]
    np.testing.assert_array_equal(data["train"][1].sequences["wrist"], stored["wrist"][3:8])
    assert data["train"][1].is_missing("pose")


def test_the_only_array_that_could_be_a_label_is_one(tmp_path, samples):
    data = load_dataset(samples.npz_flat(tmp_path))
    assert data.task == Classification(("1", "2", "3"))
    assert data["train"].labels.tolist() == [0, 1, 0, 2]
    assert any("'action'" in note for note in data.notes)
    assert data["train"].ids[0] == "action1-subject1-trial1"


def test_the_user_may_choose_another_label(tmp_path, samples):
    data = load_dataset(samples.npz_flat(tmp_path), label="subject")
    assert data.task == Classification(("1", "2"))


def test_padded_arrays_with_splits_ids_and_names_of_classes(tmp_path, samples):
    data = load_dataset(samples.npz_padded(tmp_path))
    assert {name: split.ids for name, split in data.splits.items()} == {
        "train": ("a", "b"),
        "valid": ("c",),
        "test": ("d",),
    }
    assert data["train"].lengths("wrist").tolist() == [3, 5]
    assert data.task == Classification(("run", "sit", "walk"))
    assert data.notes == ()


def test_padded_arrays_without_lengths_have_them_all(tmp_path):
    data = load_dataset(save(tmp_path, x=np.ones((3, 5, 2)), y=np.array([0.5, 1.5, 2.5])))
    assert data["train"].lengths("x").tolist() == [5, 5, 5]
    assert data.task == Regression()


def test_integers_from_zero_keep_their_value_and_names(tmp_path):
    arrays = {"x": np.ones((3, 5, 2)), "label": np.array([2, 0, 2])}
    assert load_dataset(save(tmp_path, **arrays)).task == Classification(("0", "1", "2"))
    named = load_dataset(save(tmp_path, **arrays, classes=np.array(["a", "b", "c"])))
    assert named.task == Classification(("a", "b", "c"))
    assert named["train"].labels.tolist() == [2, 0, 2]


def test_without_labels_the_clips_are_for_prediction(tmp_path):
    assert load_dataset(save(tmp_path, x=np.ones((3, 5, 2))))["train"].labels is None


def test_one_file_per_split(tmp_path):
    for name in ("train", "test"):
        np.savez(tmp_path / f"{name}.npz", x=np.ones((3, 5, 2)), y=np.arange(3))
    data = load_dataset(tmp_path)
    assert list(data.splits) == ["train", "test"]
    assert data["test"].ids[0] == "test-00000"


@pytest.mark.parametrize(
    ("arrays", "problem"),
    [
        ({"y": np.arange(3)}, "no modality among the arrays y"),
        ({"x": np.ones((9, 2)), "x_len": np.array([4, 4])}, "9 steps, but lengths add to 8"),
        ({"x": np.ones((9, 2)), "x_len": np.array([-1, 10])}, "outside"),
        ({"x": np.ones((9, 2)), "x_len": np.array([4.0, 5.0])}, "integers"),
        ({"x": np.ones((3, 4, 2)), "x_len": np.array([4, 4])}, "3 clips but 2 lengths"),
        ({"x": np.ones((3, 4, 2)), "z": np.ones((2, 4, 2))}, "different numbers of clips"),
        ({"x": np.ones((2, 4, 2)), "a": np.arange(2), "b": np.arange(2)}, "any of a, b"),
        ({"x": np.ones((2, 4, 2)), "split": np.array(["train", "moon"])}, "'moon'"),
        ({"x": np.ones((2, 4, 2)), "y": np.array([1, 1])}, "two or more"),
        ({"x": np.ones((3, 4, 2)), "label": np.arange(2)}, "'label' has 2 values for 3 clips"),
        ({"x": np.ones((3, 4, 2)), "Y": np.eye(3)}, "'Y' has 3 x 3 values for 3 clips"),
        ({"x": np.ones((3, 4, 2)), "split": np.array(["train"])}, "'split' has 1 values"),
        ({"x": np.ones((3, 4, 2)), "subjects": np.arange(4)}, "'subjects' has 4.*one for each"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, arrays, problem):
    with pytest.raises(DataError, match=problem) as caught:
        load_dataset(save(tmp_path, **arrays))
    assert caught.value.file.endswith("own.npz")


def test_utd_mhad_and_splits_by_subject(shared_data):
    data = load_dataset(shared_data / "utd_mhad" / "utd_mhad.npz", label="action")
    assert dict(data.dims) == {"inertial": 6, "skeleton": 60}
    assert len(data["train"]) == 431
    assert len(data.task.classes) == 27

    def choose(clip_id):
        if "subject7" in clip_id:
            return "test"
        return "valid" if "trial4" in clip_id else "train"

    splits = split_by(data, choose)
    assert sum(len(split) for split in splits.splits.values()) == 431
    assert all("subject7" in clip_id for clip_id in splits["test"].ids)


def test_one_number_a_step_is_a_modality_of_one_feature(tmp_path):
    data = load_dataset(save(tmp_path, pulse=np.arange(7.0), pulse_len=np.array([3, 4])))
    assert dict(data.dims) == {"pulse": 1}
    assert data["train"].lengths("pulse").tolist() == [3, 4]


def test_labels_in_a_column_are_no_modality(tmp_path):
    arrays = {"x": np.ones((3, 5, 2)), "lengths": np.array([5, 4, 3])}
    data = load_dataset(save(tmp_path, **arrays, label=np.array([[0], [1], [0]])))
    assert data.modalities == ("x",)
    assert data["train"].labels.tolist() == [0, 1, 0]


def test_arrays_that_are_not_used_are_named(tmp_path):
    data = load_dataset(save(tmp_path, x=np.ones((3, 5, 2)), camera=np.ones((4, 4))))
    assert any("camera" in note for note in data.notes)


def test_a_label_that_is_asked_for_must_fit_the_clips(tmp_path):
    file = save(tmp_path, x=np.ones((3, 5, 2)), label=np.arange(3), mood=np.arange(2))
    assert load_dataset(file)["train"].labels.tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="'mood' has 2 values for 3 clips"):
        load_dataset(file, label="mood")
