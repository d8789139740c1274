"""FIFOs, devices, sockets and directories where files belong: refused, and nothing waits."""

import os
import socket
from pathlib import Path

import numpy as np
import pytest

from mmalign.data import load_dataset
from mmalign.data.known import verify
from mmalign.errors import DataError
from mmalign.files import open_regular, read_regular
from tests.cost import cost_of

NAMES = (
    *("labels.csv", "x.csv", "train.csv", "train-00000.parquet", "train.parquet", "train.pkl"),
    *("train.npz", "data.npz", "a.csd", "train_sent_emo.csv", "train_complete_10.pkl", "x.npy"),
)
KINDS = ("fifo", "zero", "directory", "socket")


def make(file: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "zero":
        file.symlink_to("/dev/zero")
    elif kind == "directory":
        file.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as listener:
            os.chdir(file.parent)  # the address of a socket has at most 108 bytes
            listener.bind(file.name)


@pytest.mark.parametrize("kind", KINDS)
def test_no_folder_with_a_special_file_makes_a_reader_wait(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = []
    for number, name in enumerate(NAMES):
        folder = tmp_path / str(number)
        folder.mkdir()
        np.save(folder / "clip.npy", np.zeros((2, 3)))
        make(folder / name, kind)
        folders += [folder, folder / name]

    def read_all() -> None:
        for place in folders:
            verify(place)
            with pytest.raises(DataError):
                load_dataset(place)

    assert cost_of(read_all, seconds=10).outcome == "done"


@pytest.mark.parametrize("kind", KINDS)
def test_only_regular_files_are_opened(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "x", kind)
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(tmp_path / "x")


def test_a_regular_file_is_read_whole(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    assert read_regular(tmp_path / "x") == b"abc"
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "y")
