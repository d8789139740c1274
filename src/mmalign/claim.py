"""Hold a directory: the kernel lets go of it when its holder ends, however it ends."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

LOCK = ".lock"


@contextmanager
def claimed(folder: Path) -> Iterator[bool]:
    """Hold the directory if nobody else does; yields whether it is ours."""
    with _lock_file(folder) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def awaited(folder: Path) -> Iterator[None]:
    """Hold the directory, after whoever holds it now."""
    with _lock_file(folder) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock_file(folder: Path) -> IO[str]:
    # The file stays: removing it would let two processes hold two files of one name.
    return (folder / LOCK).open("w")
