"""MELD's CSV files: words and labels."""

import numpy as np
import pytest

from mmalign.data import load_dataset
from mmalign.errors import DataError


def test_words_are_cut_as_glove_counts_them(tmp_path, samples):
    data = load_dataset(samples.meld_csv(tmp_path))
    clip = data["train"][0]
    assert clip.id == "train_dia0_utt0"
    assert list(clip.words) == ["A", "good", "movie", ",", "is", "n't", "it", "?"]
    np.testing.assert_allclose(clip.sequences["text"][1], samples.table()[0], atol=1e-4)
    np.testing.assert_array_equal(clip.sequences["text"][3], 0)
    assert data.task.classes == ("anger", "joy", "neutral")
    assert list(data["train"].labels) == [2, 1, 0, 2]


def test_sentiment_is_the_other_label(tmp_path, samples):
    data = load_dataset(samples.meld_csv(tmp_path), label="sentiment")
    assert data.task.classes == ("negative", "positive")


def test_without_vectors_the_error_counts_the_clips_and_says_what_to_do(tmp_path, samples):
    samples.meld_csv(tmp_path)
    (tmp_path / "glove.5d.txt").unlink()
    with pytest.raises(DataError, match=r"train 4, valid 4, test 4.*need vectors.*--vectors"):
        load_dataset(tmp_path)


def test_another_csv_is_refused(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="lacks a column 'clip'"):
        load_dataset(file)


def test_a_line_with_too_few_columns_is_located(tmp_path, samples):
    samples.meld_csv(tmp_path)
    with (tmp_path / "dev_sent_emo.csv").open("a") as stream:
        stream.write("\n9,cut")
    with pytest.raises(DataError, match="line 6"):
        load_dataset(tmp_path)


def test_the_real_files(shared_data):
    vectors = shared_data / "mosi" / "glove300.npz"
    data = load_dataset(shared_data / "meld_text", vectors=vectors)
    sizes = {name: len(split) for name, split in data.splits.items()}
    assert sizes == {"train": 9989, "valid": 1109, "test": 2610}
    assert len(data.task.classes) == 7
    assert any("words" in note for note in data.notes)
