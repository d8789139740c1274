"""Folders of .csd files: alignment to words, segments and folds."""

import numpy as np
import pytest

from mmalign.data import Regression, load_dataset
from mmalign.data.readers.csd import sequences
from mmalign.errors import DataError

SPANS = np.array([[0, 0.5], [0.5, 1], [1, 1.5], [1.5, 2], [2, 3]])


def test_frames_are_averaged_over_words_and_words_cut_to_segments(tmp_path, samples):
    data = load_dataset(samples.csd(tmp_path))
    assert dict(data.dims) == {"text": 5, "visual": 3, "acoustic": 2}
    assert data.task == Regression(-3.0, 3.0)
    video = samples.videos["train"]
    assert data["train"].ids == (f"{video}[0]", f"{video}[1]")
    assert data["valid"].ids == (f"{samples.videos['dev']}[0]", f"{samples.videos['dev']}[1]")
    first, second = data["train"]
    assert (first.words, second.words) == (["good", "movie"], ["fine"])
    assert (first.label, second.label) == (1.25, -2.0)
    np.testing.assert_allclose(first.times, [[0.5, 1.0], [1.0, 1.5]])
    np.testing.assert_allclose(second.times, [[0.5, 1.5]])
    import h5py

    with h5py.File(tmp_path / "CMU_MOSI_Visual_Facet_41.csd") as handle:
        frames = handle[f"FACET_4.1/data/{video}/features"][()]
    expected = [frames[5:10].mean(axis=0), frames[10:15].mean(axis=0)]
    np.testing.assert_allclose(first.sequences["visual"], expected, rtol=1e-5)
    assert any("standard folds of CMU-MOSI" in note for note in data.notes)


def test_without_labels_the_error_names_the_file_to_get(tmp_path, samples):
    samples.csd(tmp_path)
    (tmp_path / "CMU_MOSI_Opinion_Labels.csd").unlink()
    with pytest.raises(DataError, match=r"no labels.*COVAREP.*CMU_MOSI_Opinion_Labels\.csd"):
        load_dataset(tmp_path)


def test_without_words_the_frames_stay_as_they_are(tmp_path, samples):
    samples.csd(tmp_path)
    (tmp_path / "CMU_MOSI_TimestampedWords.csd").unlink()
    data = load_dataset(tmp_path)
    assert data.modalities == ("visual", "acoustic")
    assert data["train"].lengths("visual").tolist() == [15, 15]


def test_vectors_in_a_csd_file_are_the_text(tmp_path, samples):
    samples.csd(tmp_path)
    vectors = {video: (np.arange(10.0).reshape(5, 2), SPANS) for video in samples.videos.values()}
    file = tmp_path / "CMU_MOSI_TimestampedWordVectors.csd"
    samples.write_csd_file(file, "glove_vectors", vectors)
    data = load_dataset(tmp_path)
    assert data.dims["text"] == 2
    np.testing.assert_array_equal(data["train"][0].sequences["text"], [[2, 3], [4, 5]])
    chosen = load_dataset(tmp_path, vectors=tmp_path / "glove5.npz")
    assert chosen.dims["text"] == 5


def test_seven_label_columns_offer_a_choice(tmp_path, samples):
    samples.csd(tmp_path)
    labels = (np.arange(14.0).reshape(2, 7) / 5, np.array([[0, 1.5], [1.5, 3.0]]))
    file = tmp_path / "CMU_MOSI_Opinion_Labels.csd"
    samples.write_csd_file(file, "All Labels", dict.fromkeys(samples.videos.values(), labels))
    data = load_dataset(tmp_path, label="fear")
    np.testing.assert_allclose(data["train"].labels, [1.2, 2.6], rtol=1e-6)
    assert any("--label" in note for note in data.notes)


def test_unknown_videos_are_all_train(tmp_path, samples):
    rows = (np.ones((2, 3)), np.array([[0, 1.0], [1, 2]]))
    samples.write_csd_file(tmp_path / "visual.csd", "visual", {"mine": rows})
    labels = (np.ones((1, 1)), np.array([[0, 2.0]]))
    samples.write_csd_file(tmp_path / "labels.csd", "labels", {"mine": labels})
    data = load_dataset(tmp_path)
    assert data["train"].ids == ("mine[0]",)
    assert any("no splits" in note for note in data.notes)


def test_words_without_frames_get_zeros_and_are_counted(tmp_path, samples):
    samples.csd(tmp_path)
    short = (np.ones((6, 3)), np.stack([np.arange(6) / 10, np.arange(1, 7) / 10], axis=1))
    rows = dict.fromkeys(samples.videos.values(), short)
    samples.write_csd_file(tmp_path / "CMU_MOSI_Visual_Facet_41.csd", "FACET_4.1", rows)
    data = load_dataset(tmp_path)
    np.testing.assert_array_equal(data["train"][0].sequences["visual"], [[1] * 3, [0] * 3])
    assert data["train"][1].is_missing("visual")
    assert any("3 words overlap no frame" in note for note in data.notes)


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ((np.ones((2, 3)), np.ones((3, 2))), "has features"),
        ((np.ones(2), np.ones((2, 2))), "has features"),
        ((np.ones((2, 3)), np.ones((2, 3))), "has features"),
        ((np.ones((2, 3), complex), np.ones((2, 2))), "type complex"),
    ],
)
def test_a_malformed_entry_is_named(tmp_path, samples, rows, problem):
    samples.csd(tmp_path)
    file = tmp_path / "CMU_MOSI_COVAREP.csd"
    samples.write_csd_file(file, "COVAREP", {"video": rows})
    with pytest.raises(DataError, match=f"entry video.*{problem}") as caught:
        load_dataset(tmp_path)
    assert caught.value.file == str(file)


def test_a_damaged_file_is_named(tmp_path, samples):
    samples.csd(tmp_path)
    file = tmp_path / "CMU_MOSI_COVAREP.csd"
    file.write_bytes(file.read_bytes()[:3000])
    with pytest.raises(DataError, match="HDF5") as caught:
        load_dataset(tmp_path)
    assert caught.value.file == str(file)


def test_a_bomb_of_empty_chunks_is_refused(tmp_path, samples):
    import h5py

    samples.csd(tmp_path)
    file = tmp_path / "CMU_MOSI_COVAREP.csd"
    with h5py.File(file, "w") as handle:
        group = handle.create_group("COVAREP/data/video")
        group.create_dataset("features", (1 << 31, 64), "f4", chunks=(1024, 64))
        group.create_dataset("intervals", (1 << 31, 2), "f8", chunks=(1024, 2))
    with pytest.raises(DataError, match="announces"):
        load_dataset(tmp_path)


@pytest.mark.parametrize("kind", ["external link", "soft link", "external storage", "virtual"])
def test_what_lies_outside_the_file_is_not_read(tmp_path, samples, kind):
    import h5py

    samples.csd(tmp_path)
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(range(96)))
    with h5py.File(tmp_path / "CMU_MOSI_COVAREP.csd", "w") as handle:
        group = handle.create_group("COVAREP/data/video")
        group["intervals"] = np.ones((2, 2))
        if kind == "external link":
            group["features"] = h5py.ExternalLink("CMU_MOSI_Opinion_Labels.csd", "/x")
        elif kind == "soft link":
            group["features"] = h5py.SoftLink("/COVAREP/data/video/intervals")
        elif kind == "virtual":
            layout = h5py.VirtualLayout((2, 2), "f4")
            layout[:] = h5py.VirtualSource(str(secret), "x", (2, 2))
            group.create_virtual_dataset("features", layout)
        else:
            group.create_dataset("features", (2, 3), "f4", external=[(str(secret), 0, 24)])
    with pytest.raises(DataError, match=r"is a link|not stored in the file"):
        load_dataset(tmp_path)


def test_a_worker_that_dies_is_an_error_with_the_file(tmp_path, samples, monkeypatch):
    samples.csd(tmp_path)
    dying = tmp_path / "dying.py"
    dying.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setattr(sequences.worker, "__file__", str(dying))
    with pytest.raises(DataError, match="crashed") as caught:
        load_dataset(tmp_path)
    assert caught.value.file.endswith(".csd")


def test_a_worker_that_hangs_is_ended(tmp_path, samples, monkeypatch):
    samples.csd(tmp_path)
    (tmp_path / "hanging.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(sequences.worker, "__file__", str(tmp_path / "hanging.py"))
    monkeypatch.setattr(sequences, "seconds_allowed", lambda _size: 1)
    with pytest.raises(DataError, match="more than 1 s"):
        load_dataset(tmp_path)


def test_without_h5py_the_error_says_what_to_install(tmp_path, samples, monkeypatch):
    samples.csd(tmp_path)
    script = tmp_path / "absent.py"
    script.write_text("""print('{"number": 0, "problem": "no h5py"}')\nraise SystemExit(3)\n""")
    monkeypatch.setattr(sequences.worker, "__file__", str(script))
    with pytest.raises(DataError, match=r"pip install 'mmalign\[csd\]'"):
        load_dataset(tmp_path)


def test_files_that_are_aligned_already_keep_their_segments(tmp_path, samples):
    video = samples.videos["train"]
    labels = {f"{video}[{n}]": (np.full((1, 1), n), np.array([[n, n + 1.0]])) for n in range(2)}
    samples.write_csd_file(tmp_path / "labels.csd", "labels", labels)
    rows = {f"{video}[{n}]": (np.full((3, 2), n), n + SPANS[:3] / 2) for n in range(2)}
    samples.write_csd_file(tmp_path / "visual.csd", "visual", rows)
    data = load_dataset(tmp_path)
    assert data["train"].ids == (f"{video}[0]", f"{video}[1]")
    np.testing.assert_array_equal(data["train"][1].sequences["visual"], np.ones((3, 2)))
