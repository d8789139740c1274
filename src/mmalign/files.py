"""Files are replaced, never overwritten: a reader sees the old bytes or the new."""

import csv
import errno
import io
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mmalign.errors import MMAlignError


def fsync_directory(path: Path) -> None:
    """Make a rename inside this directory survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def fsync_file(path: Path) -> None:
    """Push a closed file's bytes to the disk."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading that is a file: a FIFO would wait for ever, a device never end.

    Raises:
        OSError: If there is none, or it is something else.
    """
    if path.exists() and not path.is_file():  # to open a device can do something already
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    stream = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return stream


def read_regular(path: Path) -> bytes:
    """The bytes of a file that is a file.

    Raises:
        OSError: If there is none, or it is something else.
    """
    with open_regular(path) as stream:
        return stream.read()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file in errors of the system that name none, or a draft: a full disk is full there.

    Raises:
        OSError: What the block raises, with a file.
    """
    try:
        yield
    except OSError as error:
        is_draft = Path(str(error.filename)).name.startswith(f".{path.name}.")
        if error.errno is None or not (error.filename is None or is_draft):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


def write_atomically(path: Path, payload: bytes) -> None:
    """Replace path so that a reader sees the old bytes or the new, never a mixture."""
    with naming(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with naming(path), os.fdopen(handle, "wb") as stream:
            stream.write(payload)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o666 & ~_umask())
        with naming(path):
            Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    fsync_directory(path.parent)


FORMULA = re.compile(r"[=@\t\r]|[+-](?![\w.$\[\]-]*$|[\d.]+ [^A-Za-z=@|!]*$)")
"""What a spreadsheet would compute; not numbers, nor an id that begins with a hyphen."""


def csv_bytes(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    r"""Rows under column names as CSV; numbers keep every digit, None is an empty field.

    A text that a spreadsheet would take for a formula gets an apostrophe in front.

    >>> csv_bytes(["a", "b"], [[1, 0.1], [None, "x,y"], ["=1+1", "-3g5yACw"]])
    b'a,b\n1,0.1\n,"x,y"\n\'=1+1,-3g5yACw\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_no_formula, columns))
    writer.writerows(map(_no_formula, row) for row in rows)
    return text.getvalue().encode()


def _no_formula(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell


def drafts_of(path: Path) -> list[Path]:
    """What killed processes left of writing path: see `write_atomically`."""
    # A dot, the name, a dot, and the eight characters that tempfile draws.
    draft = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}")
    if not path.parent.is_dir():
        return []
    return [file for file in path.parent.iterdir() if draft.fullmatch(file.name) and file.is_file()]


@contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Yield a temporary sibling that becomes path when the block ends well, and vanishes if not.

    Raises:
        MMAlignError: If path exists and is not an empty directory.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise MMAlignError(f"{path} exists already. Give another output path, or remove it first.")
    with _draft_of(path) as draft:
        yield draft
        _settle(draft)
        draft.replace(path)
    fsync_directory(path.parent)


@contextmanager
def replaced_directory(path: Path, *, own: Set[str]) -> Iterator[Path]:
    """Yield a temporary sibling that takes the place of a saved model when the block ends well.

    Directories cannot be swapped in one step: the old one is put aside before the new one comes in.
    Whatever a kill in between leaves, `standing_directory` finds, and the next replacement clears.

    Args:
        path: The directory.
        own: Names of the files that a saved model has.

    Raises:
        MMAlignError: If the directory holds anything else.
    """
    _check_replaceable(path, own)
    aside = _aside(path)
    with _draft_of(path) as draft:
        yield draft
        _settle(draft)
        if path.exists():
            shutil.rmtree(aside, ignore_errors=True)
            path.replace(aside)
        try:
            draft.replace(path)
        except BaseException:
            if aside.exists():
                aside.replace(path)
            raise
    fsync_directory(path.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _check_replaceable(path: Path, own: Set[str]) -> None:
    problem = ""
    if path.is_file():
        problem = "is a file. Give the path of a directory."
    elif path == Path.cwd():
        problem = "is the working directory, which cannot be replaced. Give a path inside it."
    elif path.exists() and {file.name for file in path.iterdir()} - own:
        problem = "holds other files than a saved model. Give another path."
    if problem:
        raise MMAlignError(f"{path}: {problem}")


def standing_directory(path: Path) -> Path:
    """The directory at path, or the old one that a killed replacement left aside."""
    aside = _aside(path.resolve())
    return aside if aside.is_dir() and not path.exists() else path


def _aside(path: Path) -> Path:
    return path.parent / f".{path.name}.old"


@contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    """A temporary sibling of path, which vanishes if the block fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with naming(path):
        draft = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield draft
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _settle(draft: Path) -> None:
    """Push all files to the disk, and let others read them as they may read other files."""
    for file in sorted(draft.rglob("*")):
        if file.is_file():
            fsync_file(file)
    fsync_directory(draft)
    draft.chmod(0o777 & ~_umask())


def _umask() -> int:
    """The process's umask, which Python can only read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
