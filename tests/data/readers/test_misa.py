"""MISA, BBFN and MM-Align: lists of tuples, with words turned into vectors."""

import collections
import pickle
import sys
import types

import numpy as np
import pytest

from mmalign.data import Classification, Regression, load_dataset, write_native
from mmalign.errors import DataError


def write(file, value, protocol=4):
    file.write_bytes(pickle.dumps(value, protocol))
    return file


def test_splits_words_times_and_features_are_those_of_the_source(tmp_path, samples):
    data = load_dataset(samples.misa(tmp_path))
    assert data.task == Regression(-3.0, 3.0)
    assert dict(data.dims) == {"text": 5, "visual": 3, "acoustic": 2}
    assert list(data.splits) == ["train", "valid", "test"]
    vectors = dict(zip(["<unk>", "<pad>", *samples.words], samples.table(), strict=True))
    for name, source in (("train", "train"), ("valid", "dev"), ("test", "test")):
        for clip, row in zip(data[name], samples.misa_rows(source), strict=True):
            (_, visual, acoustic, words), label, clip_id = row
            assert (clip.id, clip.words) == (clip_id, words)
            assert clip.label == label[0, 0]
            assert clip.times.shape == (len(words), 2)
            np.testing.assert_array_equal(clip.sequences["visual"], visual.astype(np.float32))
            np.testing.assert_array_equal(clip.sequences["acoustic"], acoustic.astype(np.float32))
            np.testing.assert_array_equal(clip.sequences["text"], [vectors[w] for w in words])


@pytest.mark.parametrize(
    "name", ["misa_python2", "misa_protocol0", "misa_torch", "misa_legacy_torch", "mag_bert"]
)
def test_variants_give_the_same_clips(tmp_path, samples, name):
    data = load_dataset(samples.all[name](tmp_path))
    split = next(iter(data.splits))
    source = {"train": "train", "valid": "dev"}[split]
    for clip, row in zip(data[split], samples.misa_rows(source, items=4), strict=True):
        assert clip.id == row[2]
        assert list(clip.words) == row[0][3]
        assert clip.sequences["text"].shape == (len(row[0][3]), 5)
        np.testing.assert_array_equal(clip.sequences["visual"], row[0][1].astype(np.float32))


def test_six_items_bring_lengths(tmp_path, samples):
    rows = samples.misa_rows("train", items=6)
    data = load_dataset(write(tmp_path / "train.pkl", rows))
    for clip, row in zip(data["train"], rows, strict=True):
        assert len(clip.sequences["visual"]) == row[0][4]
        assert len(clip.sequences["acoustic"]) == row[0][5]


def test_torch_vectors_need_not_the_module_that_their_pickle_names(tmp_path, samples, monkeypatch):
    import torch

    module = types.ModuleType("create_dataset")
    exec("def return_unk():\n    raise SystemExit('called')", module.__dict__)
    monkeypatch.setitem(sys.modules, "create_dataset", module)
    mapping = collections.defaultdict(module.return_unk)
    mapping.update({word: row for row, word in enumerate(["<unk>", "<pad>", *samples.words])})
    file = tmp_path / "embedding_and_mapping.pt"
    torch.save((torch.from_numpy(samples.table()), mapping), file)
    monkeypatch.delitem(sys.modules, "create_dataset")
    write(tmp_path / "train.pkl", samples.misa_rows("train"))
    assert load_dataset(tmp_path).dims["text"] == 5


def test_unknown_words_are_counted_and_named(tmp_path, samples):
    rows = samples.misa_rows("train")
    words = rows[0][0][3]
    words[:] = ["zyzzyva", "zyzzyva"]
    samples.write_vectors(tmp_path)
    data = load_dataset(write(tmp_path / "train.pkl", rows))
    assert any("2 of" in note and "zyzzyva" in note for note in data.notes)
    np.testing.assert_array_equal(data["train"][0].sequences["text"], samples.table()[[0, 0]])


def test_without_vectors_text_is_left_out_and_the_note_says_how_to_get_it(tmp_path, samples):
    data = load_dataset(write(tmp_path / "dev.pkl", samples.misa_rows("dev")))
    assert data.modalities == ("visual", "acoustic")
    assert data["valid"][0].words
    assert any("--vectors" in note for note in data.notes)


def test_vectors_may_lie_elsewhere(tmp_path, samples):
    (tmp_path / "elsewhere").mkdir()
    vectors = samples.write_vectors(tmp_path / "elsewhere")
    file = write(tmp_path / "dev.pkl", samples.misa_rows("dev"))
    assert load_dataset(file, vectors=vectors).dims["text"] == 5


@pytest.mark.parametrize(
    ("label", "column"), [(None, 0), ("sentiment", 0), ("anger", 3), ("fear", 6)]
)
def test_seven_label_columns_offer_a_choice(tmp_path, samples, label, column):
    rows = samples.misa_rows("train", label_columns=7)
    data = load_dataset(write(tmp_path / "train.pkl", rows), label=label)
    np.testing.assert_array_equal(data["train"].labels, [row[1][0, column] for row in rows])
    assert any("--label" in note and "happy" in note for note in data.notes)


def test_an_unknown_label_is_answered_with_those_there_are(tmp_path, samples):
    file = write(tmp_path / "train.pkl", samples.misa_rows("train", label_columns=7))
    with pytest.raises(DataError, match=r"no label 'joy'.*happy, sad, anger"):
        load_dataset(file, label="joy")


def test_integer_labels_are_classes(tmp_path, samples):
    rows = [(c, np.array([[n % 2]]), i) for n, (c, _, i) in enumerate(samples.misa_rows("train"))]
    data = load_dataset(write(tmp_path / "train.pkl", rows))
    assert data.task == Classification(("0", "1"))


def test_a_label_out_of_range_is_located(tmp_path, samples):
    rows = samples.misa_rows("train")
    rows[2][1][0, 0] = 99
    with pytest.raises(DataError, match=r"outside -3\.\.3") as caught:
        load_dataset(write(tmp_path / "train.pkl", rows))
    assert (caught.value.split, caught.value.clip) == ("train", rows[2][2])


def test_clips_without_steps_are_left_out_with_a_note(tmp_path, samples):
    rows = samples.misa_rows("train")
    empty = (np.zeros(0, int), np.zeros((0, 3)), np.zeros((0, 2)), [])
    rows.append((empty, np.zeros((1, 1)), "empty[0]"))
    data = load_dataset(write(tmp_path / "train.pkl", rows))
    assert len(data["train"]) == len(rows) - 1
    assert any("empty[0]" in note for note in data.notes)


def test_a_file_of_no_split_is_train_with_a_note(tmp_path, samples):
    data = load_dataset(write(tmp_path / "mosi.pkl", samples.misa_rows("train")))
    assert list(data.splits) == ["train"]
    assert any("no splits" in note for note in data.notes)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda c: (c[0], c[1], "text", c[3]), "expected an array of numbers"),
        (lambda c: (c[0], c[1].reshape(-1), c[2], c[3]), "2 axes"),
        (lambda c: (c[0], c[1], c[2]), "expected a list of texts"),
        (lambda c: (c[0], c[1], c[2], [1, 2]), "expected text"),
        (lambda c: (c[0], c[1][:, :2], c[2], c[3]), "dim is"),
        (lambda c: 3, "expected"),
    ],
)
def test_a_malformed_clip_is_located(tmp_path, samples, change, problem):
    rows = samples.misa_rows("train")
    content, label, clip_id = rows[1]
    rows[1] = (change(content), label, clip_id)
    if problem == "expected a list of texts":
        rows[1] = ((np.zeros(2), *content[1:3]), label, clip_id)
    with pytest.raises(DataError, match=problem) as caught:
        load_dataset(write(tmp_path / "train.pkl", rows))
    assert caught.value.clip == clip_id
    assert caught.value.file.endswith("train.pkl")


def test_float64_that_float32_cannot_hold_is_located(tmp_path, samples):
    rows = samples.misa_rows("train")
    rows[1][0][1][1, 2] = 1e300
    file = write(tmp_path / "train.pkl", rows)
    with pytest.raises(DataError, match="non-finite") as caught:
        load_dataset(file)
    error = caught.value
    assert (error.clip, error.modality, error.step, error.feature) == (rows[1][2], "visual", 1, 2)


def test_wrong_word_times_are_refused(tmp_path, samples):
    write(tmp_path / "train.pkl", samples.misa_rows("train"))
    np.savez(tmp_path / "train_word_times.npz", times=np.zeros((3, 2)), length=[3])
    with pytest.raises(DataError, match="times of the words") as caught:
        load_dataset(tmp_path)
    assert caught.value.file.endswith("train_word_times.npz")


def test_word_ids_outside_the_table_are_refused(tmp_path, samples):
    rows = [((np.array([500, 1]), *c[1:3]), label, i) for c, label, i in samples.misa_rows("train")]
    samples.write_vectors(tmp_path)
    with pytest.raises(DataError, match=r"word id is outside 0\.\.7"):
        load_dataset(write(tmp_path / "train.pkl", rows))


def test_arrays_that_are_shared_by_many_clips_are_refused(tmp_path):
    array = np.zeros((1000, 100), np.float32)
    rows = [((np.arange(1), array, array, ["a"]), np.zeros((1, 1)), f"v[{n}]") for n in range(500)]
    with pytest.raises(DataError, match="far more than the file has"):
        load_dataset(write(tmp_path / "train.pkl", rows))


def test_mosi_converts_without_a_loss(shared_data, tmp_path):
    write_native(load_dataset(shared_data / "mosi"), tmp_path / "native")
    data = load_dataset(tmp_path / "native")
    assert dict(data.dims) == {"text": 300, "visual": 47, "acoustic": 65}
    assert {name: len(split) for name, split in data.splits.items()} == {
        "train": 1284,
        "valid": 229,
    }
    table = np.load(shared_data / "mosi" / "glove300.npz")["emb"]
    for split, name in (("train", "train"), ("valid", "dev")):
        source = pickle.loads((shared_data / "mosi" / f"{name}.pkl").read_bytes())
        for clip, ((ids, visual, acoustic, words), label, clip_id) in zip(
            data[split], source, strict=True
        ):
            assert (clip.id, list(clip.words), clip.label) == (clip_id, words, label[0, 0])
            np.testing.assert_array_equal(clip.sequences["visual"], visual)
            np.testing.assert_array_equal(clip.sequences["acoustic"], acoustic)
            np.testing.assert_array_equal(clip.sequences["text"], table[ids])
            assert len(clip.times) == len(words)


def test_the_official_dev_file(shared_data):
    vectors = shared_data / "mosi" / "glove300.npz"
    data = load_dataset(shared_data / "mosi_official_dev" / "dev.pkl", vectors=vectors)
    assert dict(data.dims) == {"text": 300, "visual": 47, "acoustic": 74}
    assert len(data["valid"]) == 229
