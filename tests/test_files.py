"""Files are replaced whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from mmalign.errors import MMAlignError
from mmalign.files import drafts_of, new_directory, write_atomically


def test_the_new_bytes_replace_the_old(tmp_path: Path):
    file = tmp_path / "a.json"
    write_atomically(file, b"old")
    write_atomically(file, b"new")
    assert file.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_keeps_the_old_bytes_and_no_draft(tmp_path: Path, monkeypatch, step):
    file = tmp_path / "a.json"
    write_atomically(file, b"old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(file, b"new")
    monkeypatch.undo()
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_directory_in_the_way_is_named_and_not_the_draft(tmp_path: Path):
    with pytest.raises(IsADirectoryError) as caught:
        write_atomically(tmp_path, b"new")
    assert caught.value.filename == str(tmp_path)


def test_the_draft_of_a_killed_process_is_known_and_nothing_else(tmp_path: Path, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise OSError("killed")

    monkeypatch.setattr(Path, "replace", fail)
    monkeypatch.setattr(Path, "unlink", fail)
    with pytest.raises(OSError, match="killed"):
        write_atomically(tmp_path / "a.json", b"new")
    monkeypatch.undo()
    (draft,) = tmp_path.iterdir()
    for name in ("a.json", ".a.json.swp", ".b.json.12345678", ".a_json.12345678"):
        (tmp_path / name).touch()
    assert drafts_of(tmp_path / "a.json") == [draft]
    assert drafts_of(tmp_path / "nowhere" / "a.json") == []


def test_a_directory_appears_when_it_is_complete(tmp_path: Path):
    with new_directory(tmp_path / "out") as draft:
        (draft / "a").write_text("a")
        assert not (tmp_path / "out").exists()
    assert (tmp_path / "out" / "a").read_text() == "a"


def test_a_directory_that_fails_vanishes(tmp_path: Path):
    def write_and_fail() -> None:
        with new_directory(tmp_path / "out") as draft:
            (draft / "a").write_text("a")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert list(tmp_path.iterdir()) == []


def test_an_existing_directory_is_kept_unless_empty(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    with new_directory(tmp_path / "empty") as draft:
        (draft / "a").write_text("a")
    assert (tmp_path / "empty" / "a").exists()
    with pytest.raises(MMAlignError, match="exists already"), new_directory(tmp_path / "empty"):
        pass


def test_where_nothing_can_be_written_the_file_is_named_and_not_its_draft(tmp_path, monkeypatch):
    def refuse(path, *_, **__):
        raise OSError(errno.EROFS, "Read-only file system", path)

    monkeypatch.setattr("tempfile._os.open", refuse)
    monkeypatch.setattr("tempfile._os.mkdir", refuse)
    with pytest.raises(OSError, match="Read-only") as told:
        write_atomically(tmp_path / "p.csv", b"x")
    assert told.value.filename == str(tmp_path / "p.csv")
    with pytest.raises(OSError, match="Read-only") as told, new_directory(tmp_path / "run"):
        pass
    assert told.value.filename == str(tmp_path / "run")
