"""Groups: a column of the file tells them, or ids that name parts of a video or dialogue."""

import numpy as np
import pytest

from mmalign.data import load_dataset
from mmalign.data.readers.groups import group_column, groups_in_ids


def npz(path, **arrays):
    file = path / "data.npz"
    np.savez(file, x=np.ones((4, 2, 3)), **arrays)
    return load_dataset(file)


def test_numbers_are_named_and_texts_taken_as_they_are(tmp_path):
    numbered = npz(tmp_path, label=[0, 1, 0, 1], subject=[1, 1, 2, 2], trial=[1, 2, 1, 2])
    assert numbered["train"].groups == ("subject1", "subject1", "subject2", "subject2")
    named = npz(tmp_path, label=[0, 1, 0, 1], speaker=["ann", "ann", "bob", "bob"])
    assert named["train"].groups == ("ann", "ann", "bob", "bob")


def test_groups_follow_their_clips_into_splits(tmp_path):
    split = ["train", "test", "test", "train"]
    data = npz(tmp_path, label=[0, 1, 0, 1], subject=[1, 2, 3, 4], split=split)
    assert data["train"].groups == ("subject1", "subject4")
    assert data["test"].groups == ("subject2", "subject3")


def test_the_label_is_no_group(tmp_path):
    file = tmp_path / "data.npz"
    np.savez(file, x=np.ones((4, 2, 3)), subject=[1, 1, 2, 2])
    assert load_dataset(file, label="subject")["train"].groups is None


def test_a_folder_of_arrays_tells_them_in_its_csv(tmp_path):
    (tmp_path / "labels.csv").write_text("id,label,person\na,0,ann\nb,1,bob\n")
    for clip_id in "ab":
        np.save(tmp_path / f"{clip_id}.npy", np.ones((2, 3)))
    assert load_dataset(tmp_path)["train"].groups == ("ann", "bob")


@pytest.mark.parametrize(
    ("ids", "groups"),
    [
        (["v[0]", "v[12]", "w[1]"], ("v", "v", "w")),
        (["v$_$1", "w$_$2"], ("v", "w")),
        (["train_dia0_utt3", "train_dia1_utt0"], ("train_dia0", "train_dia1")),
        (["v[0]", "w"], None),
        (["[0]"], None),
        ([], None),
    ],
)
def test_ids_that_name_parts(ids, groups):
    assert groups_in_ids(ids) == groups


def test_the_first_name_of_the_list_counts():
    assert group_column(["trial", "Speakers", "subject"]) == "subject"
    assert group_column(["trial", "Speakers"]) == "Speakers"
    assert group_column(["trial"]) is None
