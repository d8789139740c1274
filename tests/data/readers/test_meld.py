"""MM-Align's MELD pickles, with `embedding.p`."""

import pickle

import numpy as np
import pytest

from mmalign.data import Classification, load_dataset
from mmalign.errors import DataError


def test_tokens_become_rows_of_the_table(tmp_path, samples):
    data = load_dataset(samples.meld(tmp_path))
    assert data.task == Classification(("0", "1", "2"))
    assert dict(data.dims) == {"text": 5, "visual": 4, "acoustic": 3}
    source = pickle.loads((tmp_path / "dev.pkl").read_bytes())
    for clip, row in zip(data["valid"], source, strict=True):
        assert clip.label == row["label"]
        np.testing.assert_array_equal(clip.sequences["text"], samples.table()[row["token_ids"]])
        np.testing.assert_array_equal(clip.sequences["visual"], row["video_features"])
        np.testing.assert_array_equal(clip.sequences["acoustic"], row["audio_features"])
    assert any("names" in note for note in data.notes)


def test_without_the_table_text_is_left_out(tmp_path, samples):
    samples.meld(tmp_path)
    (tmp_path / "embedding.p").unlink()
    data = load_dataset(tmp_path)
    assert data.modalities == ("visual", "acoustic")
    assert any("--vectors" in note for note in data.notes)


def test_a_table_alone_is_no_dataset(tmp_path, samples):
    samples.meld(tmp_path)
    (tmp_path / "embedding.p").rename(tmp_path / "train.pkl")
    with pytest.raises(DataError, match="an array of shape"):
        load_dataset(tmp_path / "train.pkl")


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("label", 1.5, "expected a class"),
        ("label", None, "expected a number"),
        ("video_features", "x", "expected an array"),
        ("token_ids", [["a"]], "expected a number"),
    ],
)
def test_a_malformed_clip_is_located(tmp_path, samples, key, value, problem):
    samples.meld(tmp_path)
    rows = pickle.loads((tmp_path / "train.pkl").read_bytes())
    rows[2][key] = value
    (tmp_path / "train.pkl").write_bytes(pickle.dumps(rows))
    with pytest.raises(DataError, match=problem) as caught:
        load_dataset(tmp_path)
    assert (caught.value.split, caught.value.clip) == ("train", "train-00002")


def test_splits_of_different_layouts_are_refused(tmp_path, samples):
    samples.meld(tmp_path)
    (tmp_path / "dev.pkl").write_bytes(pickle.dumps(samples.misa_rows("dev")))
    with pytest.raises(DataError, match="different layouts"):
        load_dataset(tmp_path)
