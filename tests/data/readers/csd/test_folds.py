"""The standard folds."""

from collections import Counter

import pytest

from mmalign.data.readers.csd.folds import corpus_of, standard_folds


@pytest.mark.parametrize(
    ("corpus", "sizes"),
    [
        ("CMU-MOSI", {"train": 52, "valid": 10, "test": 31}),
        ("CMU-MOSEI", {"train": 2250, "valid": 300, "test": 678}),
    ],
)
def test_folds_have_the_published_sizes(corpus, sizes):
    assert Counter(standard_folds()[corpus].values()) == sizes


def test_a_corpus_is_known_by_its_videos():
    assert corpus_of(["WKA5OygbEKI", "2iD-tVS8NPw", "other"]) == "CMU-MOSI"
    assert corpus_of(["other", "another"]) is None
    assert corpus_of([]) is None


def test_real_splits_are_the_standard_folds(shared_data):
    import pickle

    folds = standard_folds()["CMU-MOSI"]
    for name, split in (("train", "train"), ("dev", "valid")):
        rows = pickle.loads((shared_data / "mosi" / f"{name}.pkl").read_bytes())
        assert {folds[row[2].split("[")[0]] for row in rows} == {split}
