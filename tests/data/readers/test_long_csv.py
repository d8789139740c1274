"""A CSV with a row for each step is a dataset."""

import pytest

from mmalign.data import Classification, Regression, load_dataset
from mmalign.errors import DataError

HEADER = "clip,time,label,subject,split,wrist.x,wrist.y,pose.angle"
ROWS = [
    "a,1,run,s1,train,2,2,",
    "a,0,run,s1,train,1,1,0.5",
    "b,0,walk,s2,dev,3,3,",
    "c,0,run,s3,test,,,0.1",
]


def written(tmp_path, header=HEADER, rows=ROWS, name="mine.csv"):
    file = tmp_path / name
    file.write_text("\n".join([header, *rows]) + "\n")
    return file


def without(column, rows=ROWS):
    place = HEADER.split(",").index(column)

    def cut(line):
        cells = line.split(",")
        return ",".join(cells[:place] + cells[place + 1 :])

    return cut(HEADER), [cut(row) for row in rows]


def test_clips_labels_groups_and_splits(tmp_path):
    data = load_dataset(written(tmp_path))
    assert data.task == Classification(("run", "walk"))
    assert data.dims == {"wrist": 2, "pose": 1}
    assert {name: split.ids for name, split in data.splits.items()} == {
        "train": ("a",),
        "valid": ("b",),
        "test": ("c",),
    }
    assert data["train"].groups == ("s1",)
    assert data["train"][0].sequences["wrist"].tolist() == [[1, 1], [2, 2]]
    assert data["test"][0].is_missing("wrist")


def test_splits_and_labels_may_be_absent(tmp_path):
    data = load_dataset(written(tmp_path, *without("split")))
    assert list(data.splits) == ["train"]
    assert "every clip is in train" in data.notes[0]
    assert list(load_dataset(written(tmp_path, *without("split"), name="my_test.csv")).splits) == [
        "test"
    ]
    bare = load_dataset(written(tmp_path, *without("label")))
    assert bare["train"].labels is None
    assert bare.task == Regression()


def test_a_hole_in_a_step_has_the_policy_of_any_file(tmp_path):
    torn = [*ROWS, "a,2,run,s1,train,7,,"]
    with pytest.raises(DataError, match="clip a, modality wrist, step 2, feature 1: non-finite"):
        load_dataset(written(tmp_path, rows=torn))
    gapped = load_dataset(written(tmp_path, rows=torn), non_finite="gap")
    assert gapped["train"].observed("wrist")[0].tolist() == [True, True, False]


def test_a_label_may_stand_in_one_row_of_its_clip(tmp_path):
    data = load_dataset(written(tmp_path, rows=[*ROWS, "a,2,,s1,train,7,7,"]))
    assert data["train"].labels.tolist() == [0]
    with pytest.raises(DataError, match="clip d: no label, though other clips have one"):
        load_dataset(written(tmp_path, rows=[*ROWS, "d,0,,s4,train,1,1,1"]))


def test_headers_may_hold_units_and_any_letters(tmp_path):
    data = load_dataset(written(tmp_path, "clip,label,größe.x [g]", ["a,run,1", "b,walk,2"]))
    assert data.dims == {"größe": 1}
    several = written(
        tmp_path, "clip,label,wrist.x [m;s],wrist.y\t(g)", ["a,run,1,2", "b,walk,2,3"]
    )
    assert load_dataset(several).dims == {"wrist": 2}
    long = "clip,label,wrist.".ljust(511, "y") + "ö"  # 512 bytes tell kinds apart: half of the ö
    assert load_dataset(written(tmp_path, long, ["a,run,1", "b,walk,2"])).dims == {"wrist": 1}
    file = tmp_path / "latin.csv"
    file.write_bytes("clip,label,größe.x\na,run,1\n".encode("latin-1"))
    with pytest.raises(DataError, match="header is not in UTF-8"):
        load_dataset(file)


def test_other_splits_and_other_tables_are_refused(tmp_path):
    with pytest.raises(DataError, match="no rows below the header"):
        load_dataset(written(tmp_path, rows=[]))
    with pytest.raises(DataError, match="unknown split 'later'"):
        load_dataset(written(tmp_path, rows=[*ROWS, "d,0,run,s4,later,1,1,1"]))
    with pytest.raises(DataError, match=r"row per step, with columns clip, label, wrist\.x"):
        load_dataset(written(tmp_path, "name,value", ["a,1"]))


def test_a_label_that_is_no_column_is_refused(tmp_path):
    chosen = load_dataset(written(tmp_path), label="subject")
    assert len(chosen.task.classes) > 1
    with pytest.raises(DataError, match="no column 'lable'; did you mean 'label'"):
        load_dataset(written(tmp_path), label="lable")
