"""Word vectors of every kind give the same table."""

import pickle

import numpy as np
import pytest

from mmalign.data.readers.vectors import load_vectors
from mmalign.errors import DataError


def write_txt(folder, words, table):
    lines = [
        " ".join([w, *(repr(float(x)) for x in row)]) for w, row in zip(words, table, strict=True)
    ]
    (folder / "v.txt").write_text("\n".join(lines))
    return folder / "v.txt"


def write_word2vec(folder, words, table):
    file = write_txt(folder, words, table)
    file.write_text(f"{len(words)} {table.shape[1]}\n{file.read_text()}\n")
    return file


def write_npz(folder, words, table):
    np.savez(folder / "v.npz", emb=table, words=np.array(words))
    return folder / "v.npz"


def write_pickle(folder, words, table):
    rows = {word: row for row, word in enumerate(words)}
    (folder / "v.pkl").write_bytes(pickle.dumps((rows, table)))
    return folder / "v.pkl"


def write_torch(folder, words, table, legacy=False):
    import torch

    rows = {word: row for row, word in enumerate(words)}
    file = folder / "v.pt"
    torch.save((torch.from_numpy(table), rows), file, _use_new_zipfile_serialization=not legacy)
    return file


def write_legacy_torch(folder, words, table):
    return write_torch(folder, words, table, legacy=True)


KINDS = [write_txt, write_word2vec, write_npz, write_pickle, write_torch, write_legacy_torch]


@pytest.mark.parametrize("write", KINDS)
def test_every_kind_finds_the_words(tmp_path, samples, write):
    words = ["<unk>", "<pad>", *samples.words]
    vectors = load_vectors(write(tmp_path, words, samples.table()), [*samples.words, "<unk>"])
    rows = vectors.rows_of(["good", "Good", "zyzzyva", "plot"])
    assert rows[2] == -1
    steps = vectors.gather(rows)
    np.testing.assert_allclose(steps, samples.table()[[2, 2, 0, 5]], rtol=1e-6)


@pytest.mark.parametrize("write", KINDS)
def test_a_cut_file_is_refused(tmp_path, samples, write):
    file = write(tmp_path, ["<unk>", "<pad>", *samples.words], samples.table())
    file.write_bytes(file.read_bytes()[: 30 if write is write_txt else -60])
    try:
        load_vectors(file, samples.words)
    except DataError as error:
        assert error.file == str(file)  # noqa: PT017 - a text file may lose its last words only


def test_without_an_unknown_word_there_are_zeros(tmp_path, samples):
    table = samples.table()[: len(samples.words)]
    vectors = load_vectors(write_npz(tmp_path, samples.words, table), ())
    np.testing.assert_array_equal(vectors.gather(vectors.rows_of(["zyzzyva"])), np.zeros((1, 5)))


def test_a_table_alone_has_no_words(tmp_path, samples):
    np.save(tmp_path / "v.npy", samples.table())
    assert load_vectors(tmp_path / "v.npy", ()).rows is None


@pytest.mark.parametrize("value", [[1, 2, 3], {"a": 1}, (np.ones((2, 2)), {"a": 7}), "text"])
def test_other_values_are_refused(tmp_path, value):
    (tmp_path / "v.pkl").write_bytes(pickle.dumps(value))
    with pytest.raises(DataError) as caught:
        load_vectors(tmp_path / "v.pkl", ())
    assert caught.value.file == str(tmp_path / "v.pkl")


def test_a_tensor_that_looks_beyond_its_storage_is_refused(tmp_path):
    import torch

    stretched = torch.ones(1, 5).expand(1000, 5)
    torch.save((stretched, {}), tmp_path / "v.pt")
    with pytest.raises(DataError, match="one piece"):
        load_vectors(tmp_path / "v.pt", ())


def test_a_text_that_knows_no_word_is_refused(tmp_path):
    (tmp_path / "v.txt").write_text("hello 1 2 3\n")
    with pytest.raises(DataError, match="none of the words"):
        load_vectors(tmp_path / "v.txt", ["other"])


def test_numbers_that_are_none_are_located(tmp_path):
    (tmp_path / "v.txt").write_text("hello 1 2 3\nworld 1 x 3\n")
    with pytest.raises(DataError, match="line 2"):
        load_vectors(tmp_path / "v.txt", ["world"])
