"""Tables of all kinds become the clips that they describe."""

import gzip
import os
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.data import clips_from_frames, clips_from_rows
from mmalign.errors import DataError

WRIST = pd.DataFrame(
    {
        "clip": ["b", "a", "b", "a", "b"],
        "time": [2, 1, 0, 0, 1],
        "x": [5.0, 1.0, 3.0, 0.0, np.nan],
        "y": [6, 1, 4, 0, 5],
    }
)
POSE = pd.DataFrame({"clip": ["b"], "time": [0.5], "angle": [9.0]})
LABELS = pd.DataFrame({"clip": ["a", "b"], "label": ["run", "walk"], "subject": ["s1", "s2"]})


def as_plain(clips):
    return [
        (
            c.id,
            c.label,
            c.group,
            {n: None if s is None else s.tolist() for n, s in c.sequences.items()},
        )
        for c in clips
    ]


def test_one_frame_for_each_modality_sorted_by_time():
    a, b = clips_from_frames({"wrist": WRIST, "pose": POSE}, LABELS, time="time", group="subject")
    assert (a.id, a.label, a.group) == ("a", "run", "s1")
    assert a.sequences["wrist"].tolist() == [[0, 0], [1, 1]]
    assert a.is_missing("pose")
    np.testing.assert_array_equal(b.sequences["wrist"], [[3, 4], [np.nan, 5], [5, 6]])
    assert b.sequences["pose"].tolist() == [[9]]


def test_every_kind_of_frame_gives_the_same_clips(tmp_path):
    wrist = WRIST.drop(columns="x")
    wrist.to_csv(tmp_path / "wrist.csv", index=False)
    table = pa.Table.from_pandas(wrist, preserve_index=False)
    pq.write_table(table, tmp_path / "wrist.parquet")
    stream = SimpleNamespace(__arrow_c_stream__=table.__arrow_c_stream__)
    expected = as_plain(clips_from_frames({"wrist": wrist}, LABELS, time="time"))
    kinds = (table, wrist.to_dict("list"), tmp_path / "wrist.csv", str(tmp_path / "wrist.parquet"))
    for kind in (*kinds, stream):
        assert as_plain(clips_from_frames({"wrist": kind}, LABELS, time="time")) == expected


def test_one_frame_for_all_modalities_each_with_its_own_rate():
    frame = pd.DataFrame(
        {
            "clip": ["a"] * 4 + ["b"] * 2,
            "wrist.x": [1, 2, 3, 4, 5, 6],
            "wrist.y": [1, np.nan, 3, 4, 5, 6],
            "pose.angle": [0.5, np.nan, 1.5, np.nan, np.nan, np.nan],
            "label": ["run"] * 4 + ["walk"] * 2,
        }
    )
    a, b = clips_from_frames(frame)
    assert a.sequences["wrist"].shape == (4, 2)
    assert np.isnan(a.sequences["wrist"][1, 1])  # half a step is a step, for the policy to judge
    assert a.sequences["pose"].tolist() == [[0.5], [1.5]]
    assert b.is_missing("pose")
    assert b.label == "walk"
    chosen = {"hand": ["wrist.y"], "body": ["pose.angle"]}
    assert set(clips_from_frames(frame, modalities=chosen)[0].sequences) == {"hand", "body"}


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 99), st.integers(-9, 9)), min_size=1),
    st.randoms(use_true_random=False),
)
def test_clips_are_the_rows_of_each_id_in_the_order_of_time(rows, random):
    rows = list({(one, time): (one, time, value) for one, time, value in rows}.values())
    expected = {
        one: [[float(v)] for i, _, v in sorted(rows, key=lambda r: r[1]) if i == one]
        for one in {r[0] for r in rows}
    }
    random.shuffle(rows)
    clip, time, value = zip(*rows, strict=True)
    frame = {"clip": list(clip), "time": list(time), "value": list(value)}
    found = clips_from_frames({"m": frame}, time="time")
    assert {c.id: c.sequences["m"].tolist() for c in found} == expected


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"clip": "clips"}, "modality wrist: there is no column 'clips'; did you mean 'clip'"),
        ({}, {"time": "tim"}, "no column 'tim'"),
        ({}, {"group": "person"}, "no column 'person'"),
        ({"clip": ["a", None, "b", "a", "b"]}, {}, "row 1 has no 'clip'"),
        ({"x": list("abcde")}, {}, "modality wrist: column 'x' holds text, not numbers"),
        ({"label": list("rrwrw")}, {}, "clip b: label 'r' in one row and 'w' in another"),
        ({"clip": [b"a"] * 5}, {}, "column 'clip' is not in UTF-8"),
        ({"time": ["9", "10", "11", "1", "2"]}, {}, "'time' holds .*string, which cannot be sort"),
        ({"time": [[1]] * 5}, {}, "'time' holds list.*, which cannot be sorted by"),
    ],
)
def test_what_is_wrong_with_a_frame_is_said(change, options, message):
    with pytest.raises(DataError, match=message):
        clips_from_frames({"wrist": WRIST.assign(**change)}, **options)


def test_a_clip_whose_cells_are_all_empty_is_told():
    frame = {"clip": ["a", "b"], "wrist.x": [1.0, None], "pose.y": [None, None]}
    with pytest.raises(DataError, match="clip b: every modality is missing"):
        clips_from_frames(frame)
    frame = {"clip": ["a", "b"], "wrist.x": [1.0, None], "pose.y": [None, 2.0]}
    assert [clip.is_missing("pose") for clip in clips_from_frames(frame)] == [True, False]


def test_what_is_no_frame_is_refused(tmp_path):
    for frame, message in (
        (7, "not a table but int"),
        (pd.Series([1.0]), "not a table but Series"),
        ({"wrist": 7}, "modality wrist: not a table but int"),
        (WRIST, "no column is of the form modality.feature"),
        (tmp_path / "none.csv", "there is no such file"),
        (pa.table([["a"], [1.0], [2.0]], ["clip", "m.x", "m.x"]), "there are 2 columns 'm.x'"),
    ):
        with pytest.raises(DataError, match=message):
            clips_from_frames(frame)
    with pytest.raises(DataError, match="clip c: every modality is missing"):
        clips_from_frames({"wrist": WRIST}, pd.DataFrame({"clip": ["c"], "label": ["run"]}))


class HuggingFace(list):
    """What is used of a Hugging Face dataset: rows, and features that know names of classes."""

    @property
    def features(self):
        return {"label": SimpleNamespace(names=["run", "walk"]), "wrist": None}


def test_rows_of_lists_and_of_hugging_face():
    rows = [
        {"file": "1.wav", "wrist": [[0.0, 1.0]], "pose": None, "label": 1, "who": 7},
        {"file": "2.wav", "wrist": None, "pose": [[2.0]], "label": 0, "who": 8},
    ]
    plain = clips_from_rows(rows, ["wrist", "pose"], id="file", group="who")
    assert as_plain(plain) == [
        ("1.wav", 1, "7", {"wrist": [[0.0, 1.0]], "pose": None}),
        ("2.wav", 0, "8", {"wrist": None, "pose": [[2.0]]}),
    ]
    assert [clip.label for clip in clips_from_rows(HuggingFace(rows), ["wrist", "pose"])] == [
        "walk",
        "run",
    ]
    with pytest.raises(DataError, match="clip clip1: every modality is missing"):
        clips_from_rows(rows, ["wrist"])
    with pytest.raises(DataError, match="no row has a column 'wirst'; there are"):
        clips_from_rows(rows, ["wirst"])
    with pytest.raises(DataError, match=r"got a dict of 'train'\. Give the rows of one split"):
        clips_from_rows({"train": rows}, ["wrist"])


def test_labels_that_hugging_face_has_no_name_for():
    """Label -1, which says that there is none, was taken for the last class."""
    rows = [{"wrist": [[0.0]], "label": label} for label in (1, -1)]
    assert [clip.label for clip in clips_from_rows(HuggingFace(rows), ["wrist"])] == ["walk", None]
    (clip,) = clips_from_rows(HuggingFace([{"wrist": [[0.0]], "label": np.int64(1)}]), ["wrist"])
    assert clip.label == "walk"  # as dataset.with_format("numpy") gives it
    with pytest.raises(DataError, match=r"label 7 is outside 0\.\.1"):
        clips_from_rows(HuggingFace([{"wrist": [[0.0]], "label": 7}]), ["wrist"])


@pytest.mark.parametrize("label", [True, np.True_, np.array(1), torch.tensor(1), np.uint8(1)])
def test_whatever_is_a_whole_number_names_a_class(label):
    """NumPy's True stayed True, while Python's became the name of class 1."""
    (clip,) = clips_from_rows(HuggingFace([{"wrist": [[0.0]], "label": label}]), ["wrist"])
    assert clip.label == "walk"


@pytest.mark.parametrize("label", [np.array([0, 1]), torch.tensor(1.5), torch.tensor([0, 1])])
def test_labels_that_are_no_index_are_refused_in_words(label):
    """They were a TypeError where classes have names."""
    with pytest.raises(DataError, match="clip clip0: the label is neither a name nor a number"):
        clips_from_rows(HuggingFace([{"wrist": [[0.0]], "label": label}]), ["wrist"])


def test_rows_that_are_no_dicts_of_names():
    """They were an AttributeError and a TypeError."""
    for rows, kind in ((WRIST, "str"), ([["a", 1]], "list"), ([None], "NoneType")):
        with pytest.raises(DataError, match=f"dicts, got one of {kind}.*clips_from_frames"):
            clips_from_rows(rows, ["wrist"])
    with pytest.raises(DataError, match="no row has a column 'wrist'; there are 7, pose"):
        clips_from_rows([{"pose": [[0.0]], 7: 1}], ["wrist"])


def test_tables_that_unpack_to_far_more_than_their_size_are_refused(tmp_path):
    """130 KB of Parquet took 1.5 GB, a CSV file of 100,000 columns 1.1 GB and 25 seconds."""
    rows = np.zeros(5_000_000, np.int32)
    clip = pa.array(["a"]).take(pa.array(rows)).dictionary_encode()
    table = pa.table({"clip": clip, "x": pa.array(rows)})
    pq.write_table(table, tmp_path / "bomb.parquet", compression="zstd")
    header, values = ",".join(map(str, range(9_000))), ",".join("1" * 9_000)
    (tmp_path / "wide.csv").write_text(f"clip,{header}\na,{values}\n")
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(b"clip,x\n" + b"a,1\n" * 1_000_000))
    for name, message in (
        ("bomb.parquet", "looks like a bomb"),
        ("wide.csv", "9,000 columns"),
        ("bomb.csv.gz", "not a readable table"),
    ):
        with pytest.raises(DataError, match=message):
            clips_from_frames({"wrist": tmp_path / name})


def test_a_pipe_in_place_of_a_table_makes_nobody_wait(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="not a regular file"):
        clips_from_frames({"wrist": tmp_path / "pipe.csv"})
