"""Which reader reads what, and near misses that help."""

import gzip
import os
import pickle
import zipfile

import numpy as np
import pytest

from mmalign.data import load_dataset, write_native
from mmalign.errors import DataError

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n"
PAGE = b"<!DOCTYPE html><html><head><title>Google Drive - Virus scan warning</title></head></html>"


def test_every_sample_survives_the_native_format(tmp_path, samples):
    for name, build in samples.all.items():
        folder = tmp_path / name
        folder.mkdir()
        data = load_dataset(build(folder))
        write_native(data, tmp_path / f"{name}-native")
        again = load_dataset(tmp_path / f"{name}-native")
        assert (again.task, dict(again.dims)) == (data.task, dict(data.dims)), name
        for split in data.splits:
            for one, other in zip(data[split], again[split], strict=True):
                assert (one.id, one.label) == (other.id, other.label)
                assert (one.words is None) == (other.words is None)
                for modality in data.modalities:
                    np.testing.assert_array_equal(
                        one.sequences[modality], other.sequences[modality]
                    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (LFS, "Git LFS pointer, not the data.*git lfs pull"),
        (PAGE, "web page, not the data"),
        (b"\n  <html>", "web page"),
        (b"", "the file is empty"),
        (gzip.compress(b"x", mtime=0), "packed archive.*Unpack it first"),
        (b"PAR1....", "one Parquet file.*directory"),
        (b"MATLAB 5.0 MAT-file", "MATLAB"),
        (b'{"a": 1}', "JSON"),
        (b"clip;time;wrist.x\na;0;1\n", "semicolons or tabs.*CSV with commas"),
        (b'\xef\xbb\xbf"clip"\ttime\r\n', "semicolons or tabs"),
        (b"clip;wrist.x (m,s)\na;1\n", "semicolons or tabs"),
        (b"clip\ttime\twrist.x (m,s)\na\t0\t1\n", "semicolons or tabs"),
        (b"clip,id\ttime", "semicolons or tabs"),
        (b"ab,\xff\xfe\x80\x81\x95\n\x00", "not a supported format"),
        (b"@relation 'iris, plants'\n@data\n1,2\n", "not a supported format"),
        (b'<data a="1,2">\n</data>\n', "not a supported format"),
        (b"import os, sys\n", "read as CSV, it lacks a column 'clip'"),
        (b"\x89PNG\r\n\x1a\n", "not a supported format"),
        (b"hello world", "not a supported format"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "Give the folder"),
        (pickle.dumps({"a": 1}), "a dict with keys a"),
        (pickle.dumps([1, 2]), "a list of 2 of int items"),
        (pickle.dumps([]), "a list of 0"),
        (pickle.dumps(3), "'3'"),
        (pickle.dumps(1 << 100_000), "an integer of 100001 bits"),
    ],
    ids=range(25),
)
def test_near_misses_say_what_the_file_is(tmp_path, content, problem):
    file = tmp_path / "train.pkl"
    file.write_bytes(content)
    with pytest.raises(DataError, match=problem) as caught:
        load_dataset(file)
    assert caught.value.file == str(file)


def test_a_pointer_inside_a_folder_is_named(tmp_path, samples):
    samples.misa(tmp_path)
    (tmp_path / "dev.pkl").write_bytes(LFS)
    with pytest.raises(DataError, match="pointer") as caught:
        load_dataset(tmp_path)
    assert caught.value.file.endswith("dev.pkl")


def test_a_zip_that_was_not_unpacked(tmp_path, samples):
    with zipfile.ZipFile(tmp_path / "data.pkl", "w") as archive:
        archive.writestr("MOSI/aligned_50.pkl", b"x")
    with pytest.raises(DataError, match="not unpacked"):
        load_dataset(tmp_path / "data.pkl")


def test_one_array_and_one_tensor_are_no_dataset(tmp_path, samples):
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(DataError, match=r"labels\.csv"):
        load_dataset(tmp_path / "x.npy")
    samples.misa_torch(tmp_path)
    with pytest.raises(DataError, match="--vectors"):
        load_dataset(tmp_path / "embedding_and_mapping.pt")


@pytest.mark.parametrize("kind", ["fifo", "device", "socket", "missing", "unreadable", "link"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path, kind):
    path = tmp_path / "x"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = path.with_name("zero")
        path.symlink_to("/dev/zero")
    elif kind == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as stream:
            stream.bind(str(path))
    elif kind == "unreadable":
        path.write_bytes(b"x")
        path.chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("root reads everything")
    elif kind == "link":
        path.symlink_to(path)
    with pytest.raises(DataError):
        load_dataset(path)


def test_an_empty_folder_and_a_folder_of_other_things(tmp_path):
    with pytest.raises(DataError, match="directory without splits"):
        load_dataset(tmp_path)
    (tmp_path / "notes.md").write_text("x")
    with pytest.raises(DataError, match=r"notes\.md.*formats\.md"):
        load_dataset(tmp_path)


def test_the_only_data_file_of_a_folder_is_read(tmp_path, samples):
    samples.mult(tmp_path)
    assert len(load_dataset(tmp_path)["train"]) == 4
    (tmp_path / "other_data.pkl").write_bytes(b"x")
    with pytest.raises(DataError, match=r"several data files: mosi_data\.pkl, other_data\.pkl"):
        load_dataset(tmp_path)


def test_two_files_of_one_split_are_refused(tmp_path, samples):
    samples.misa(tmp_path)
    (tmp_path / "valid.pkl").write_bytes((tmp_path / "dev.pkl").read_bytes())
    with pytest.raises(DataError, match=r"dev\.pkl and valid\.pkl"):
        load_dataset(tmp_path)


def test_unicode_names_are_fine(tmp_path, samples):
    folder = tmp_path / "données 中文"
    folder.mkdir()
    assert len(load_dataset(samples.misa(folder))["train"]) == 4


def test_python_2_text_keeps_its_accents(tmp_path, samples):
    rows = samples.misa_rows("train")
    rows[0][0][3][0] = "café"
    (tmp_path / "train.pkl").write_bytes(samples.python2_dumps(rows))
    assert load_dataset(tmp_path / "train.pkl")["train"][0].words[0] == "café"


@pytest.mark.parametrize("name", ["native", "meld", "mmsa_clip", "smartwatch"])
def test_a_choice_among_labels_is_refused_where_there_is_none(tmp_path, samples, name):
    path = _place_of(name, tmp_path, samples)
    with pytest.raises(DataError, match=r"no label 'nope'.*Leave out --label"):
        load_dataset(path, label="nope")
    assert load_dataset(path, label="label").splits


@pytest.mark.parametrize(
    "name",
    ["native", "smartwatch", "npz_flat", "npy_folder", "mult", "mmsa_aligned", "mmsa_clip"],
)
def test_word_vectors_are_refused_where_no_words_wait_for_them(tmp_path, samples, name):
    with pytest.raises(DataError, match=r"vec\.txt would not be used.*Leave out --vectors"):
        load_dataset(_place_of(name, tmp_path, samples), vectors=tmp_path / "vec.txt")


def _place_of(name, folder, samples):
    """Where one of the samples lies, or a built-in dataset."""
    if name == "smartwatch":
        return name
    if name == "native":
        write_native(load_dataset(samples.npz_flat(folder)), folder / "native")
        return folder / "native"
    return samples.all[name](folder)
