"""Zip archives: checked sizes and sums, no bombs."""

import struct
import zipfile

import numpy as np
import pytest

from mmalign.data.arrays import Archive
from mmalign.errors import DataError


@pytest.fixture
def archive(tmp_path):
    file = tmp_path / "x.zip"

    def write(compression=zipfile.ZIP_STORED, **entries):
        with zipfile.ZipFile(file, "w", compression) as stream:
            for name, content in entries.items():
                stream.writestr(name, content)
        return file

    return write


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_entries_are_read_back(archive, compression):
    with Archive(archive(compression, a=b"one", b=b"two" * 1000)) as opened:
        assert opened.names == ["a", "b"]
        assert bytes(opened.read("b")) == b"two" * 1000


def test_stored_entries_are_views_on_the_file(archive):
    with Archive(archive(a=bytes(1000))) as opened:
        view = opened.read("a")
        assert np.shares_memory(np.frombuffer(view, "u1"), np.frombuffer(opened.data, "u1"))


def test_a_bomb_is_refused_before_it_is_unpacked(archive):
    file = archive(zipfile.ZIP_DEFLATED, a=bytes(100_000_000))
    with pytest.raises(DataError, match="bomb"):
        Archive(file)


def test_an_entry_that_unpacks_to_more_than_it_announces_is_refused(archive):
    file = archive(zipfile.ZIP_DEFLATED, a=bytes(10_000))
    content = file.read_bytes().replace(struct.pack("<I", 10_000), struct.pack("<I", 9_000))
    file.write_bytes(content)
    with Archive(file) as opened, pytest.raises(DataError, match="bytes that were stored"):
        opened.read("a")


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unusual_methods_are_refused(archive, compression):
    file = archive(compression, a=b"x" * 100)
    with Archive(file) as opened, pytest.raises(DataError, match="unusual method"):
        opened.read("a")


def test_a_missing_entry_is_named(archive):
    with Archive(archive(a=b"")) as opened, pytest.raises(DataError, match="no entry 'b'"):
        opened.read("b")


@pytest.mark.parametrize("cut", [10, 40, -1])
def test_a_cut_archive_is_refused(archive, cut):
    file = archive(a=b"abc")
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(DataError, match="zip archive"):
        Archive(file)


def test_an_encrypted_entry_is_refused(archive):
    file = archive(a=b"abc")
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    file.write_bytes(content)
    with Archive(file) as opened, pytest.raises(DataError, match="encrypted"):
        opened.read("a")
