"""A folder of arrays and a CSV of labels."""

import numpy as np
import pytest

from mmalign.data import Classification, Regression, load_dataset
from mmalign.errors import DataError


def test_clips_splits_and_missing_files(tmp_path, samples):
    data = load_dataset(samples.npy_folder(tmp_path))
    assert dict(data.dims) == {"pose": 2, "wrist": 3}
    assert {name: split.ids for name, split in data.splits.items()} == {
        "train": ("clip0", "clip1"),
        "valid": ("clip2",),
        "test": ("clip3", "clip4"),
    }
    assert data.task == Regression()
    assert data["test"].labels.tolist() == [1.5, 2.0]
    assert data["test"][0].is_missing("pose")
    stored = np.load(tmp_path / "wrist" / "clip4.npy").astype(np.float32)
    np.testing.assert_array_equal(data["test"][1].sequences["wrist"], stored)


def write(tmp_path, lines, shape=(3, 2)):
    (tmp_path / "wrist").mkdir()
    for name in ("a", "b"):
        np.save(tmp_path / "wrist" / f"{name}.npy", np.ones(shape))
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    return tmp_path


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (("0", "1"), Classification(("0", "1"))),
        (("run", "walk"), Classification(("run", "walk"))),
        (("0.5", "2"), Regression()),
    ],
)
def test_the_task_follows_from_the_labels(tmp_path, labels, task):
    lines = ["id,label", f"a,{labels[0]}", f"b,{labels[1]}"]
    data = load_dataset(write(tmp_path, lines))
    assert data.task == task
    assert list(data.splits) == ["train"]
    assert any("no splits" in note for note in data.notes)


def test_names_of_columns_may_be_spaced_out(tmp_path):
    data = load_dataset(write(tmp_path, ["id , label\t,split", "a,run,train", "b,walk,train"]))
    assert data["train"].ids == ("a", "b")
    assert data.task == Classification(("run", "walk"))


def test_one_vector_is_a_sequence_of_one_step(tmp_path):
    data = load_dataset(write(tmp_path, ["id,label", "a,0", "b,1"], shape=(7,)))
    assert data["train"][0].sequences["wrist"].shape == (1, 7)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (['"id,label', "a,1", "b,2"], "header names no ids|CSV without clips|columns"),
        (["id,label", "a,0", "../b,1"], "is not an id"),
        (["id,label", "a,0", "b"], "line 3 has another number"),
        (["id,label", "a,0", "a,1"], "twice"),
        (["id,label", "a,0", "c,1"], "every modality is missing"),
        (["id,label,split", "a,0,moon", "b,1,train"], "unknown split 'moon'"),
        (["id,mood,age", "a,0,1", "b,1,2"], "any of mood, age"),
        (["id,label"], "without clips"),
    ],
)
def test_a_strange_table_is_refused(tmp_path, lines, problem):
    with pytest.raises(DataError, match=problem):
        load_dataset(write(tmp_path, lines))


def test_a_damaged_array_is_named(tmp_path, samples):
    samples.npy_folder(tmp_path)
    file = tmp_path / "wrist" / "clip3.npy"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(DataError, match="bytes") as caught:
        load_dataset(tmp_path)
    assert caught.value.file == str(file)


@pytest.mark.parametrize("name", ["{m}/{i}.npy", "{i}/{m}.npy", "{i}_{m}.npy", "{i}.{m}.npy"])
@pytest.mark.parametrize("column", ["id", "clip", "filename"])
def test_names_of_files_in_every_order(tmp_path, name, column):
    for clip_id in ("a_1", "a_2"):
        for modality in ("wrist", "pose"):
            file = tmp_path / name.format(i=clip_id, m=modality)
            file.parent.mkdir(exist_ok=True)
            np.save(file, np.ones((3, len(modality))))
    (tmp_path / "labels.csv").write_text(f"{column},label\na_1,0\na_2,1\n")
    data = load_dataset(tmp_path)
    assert dict(data.dims) == {"pose": 4, "wrist": 5}
    assert data["train"].ids == ("a_1", "a_2")


def test_one_modality_needs_no_name(tmp_path):
    for clip_id in ("a", "b"):
        np.save(tmp_path / f"{clip_id}.npy", np.ones((3, 2)))
    (tmp_path / "labels.csv").write_text("filename,label\na.npy,0\nb.npy,1\n")
    assert dict(load_dataset(tmp_path).dims) == {"features": 2}


def test_files_of_other_clips_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    (tmp_path / "labels.csv").write_text("id,label\na,0\nb,1\n")
    with pytest.raises(DataError, match="named for an id"):
        load_dataset(tmp_path)


def test_another_dim_is_located(tmp_path):
    write(tmp_path, ["id,label", "a,0", "b,1"])
    np.save(tmp_path / "wrist" / "b.npy", np.ones((3, 9)))
    with pytest.raises(DataError, match=r"dim is 9, in a\.npy 2") as caught:
        load_dataset(tmp_path)
    assert (caught.value.clip, caught.value.modality) == ("b", "wrist")
