"""Own a directory: it belongs to one run, grid or search, and processes take turns in it."""

import fcntl
import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mmalign.errors import MMAlignError
from mmalign.files import drafts_of
from mmalign.runs.records import differences, read_json, write_json

LOCK = ".lock"


class ForeignFolderError(MMAlignError):
    """The directory belongs to something else."""


class BusyFolderError(MMAlignError):
    """Another process holds the directory."""


class FinishedFolderError(MMAlignError):
    """There is nothing left to do in the directory."""


@contextmanager
def claimed(folder: Path, *, busy: str = "another process holds it.") -> Iterator[None]:
    """Hold the directory; the kernel lets go of it when its holder ends, however it ends.

    Args:
        folder: The directory.
        busy: What to say if another process holds it.

    Raises:
        BusyFolderError: If another process does.
    """
    with _lock_file(folder) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyFolderError(f"{folder}: {busy}") from error
        yield


@contextmanager
def awaited(folder: Path) -> Iterator[None]:
    """Hold the directory, after whoever holds it now."""
    with _lock_file(folder) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock_file(folder: Path) -> IO[str]:
    # The file stays: removing it would let two processes hold two files of one name.
    return (folder / LOCK).open("w")


def refuse_foreign(folder: Path, *, marker: str, what: str, born: Collection[Path] = ()) -> None:
    """Refuse a directory that is neither new, nor empty, nor ours, nor ours and killed at birth.

    Args:
        folder: The directory.
        marker: The file that every directory of this kind holds.
        what: What the directory should be, for the message.
        born: What may lie there before the marker is written.

    Raises:
        ForeignFolderError: If the directory holds anything else.
    """
    if not folder.exists() or (folder / marker).exists():
        return
    ours = {folder / LOCK, *born, *drafts_of(folder / marker)}
    if not folder.is_dir() or set(folder.iterdir()) - ours:
        raise ForeignFolderError(f"{folder}: exists and is not a {what}. Give another --out.")


def keep_identity(folder: Path, identity: dict[str, Any], *, marker: str, what: str) -> None:
    """Write what the directory belongs to, or see that it belongs to just this.

    Raises:
        ForeignFolderError: If it belongs to something else; the message names what differs.
        MMAlignError: If the marker is damaged.
    """
    file = folder / marker
    if not file.exists():
        write_json(file, identity)
        return
    known = read_json(file, fix="Delete the directory.")
    changes = differences(known, json.loads(json.dumps(identity)))
    if changes:
        raise ForeignFolderError(
            f"{folder}: holds another {what}; {'; '.join(changes)}. "
            "Give another --out, or the options it was started with."
        )
