"""The directory of a search: it belongs to one search, and processes take turns in it."""

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmalign.runs.claim import awaited, keep_identity, refuse_foreign

IDENTITY, WORKERS = "search.json", ".workers"


@dataclass(frozen=True)
class SearchFolder:
    """The directory of a search, shared by its processes.

    The kernel gives up a dead process's locks, so a lock tells who is alive: no clock is needed,
    and no heartbeat.
    """

    path: Path

    @property
    def database(self) -> Path:
        """Where the study is kept."""
        return self.path / "study.db"

    def claim(self, identity: dict[str, Any]) -> None:
        """Make the directory this search's, or see that it is.

        Raises:
            MMAlignError: If it holds anything else.
        """
        refuse_foreign(
            self.path, marker=IDENTITY, what="directory of a search", born={self.path / WORKERS}
        )
        (self.path / WORKERS).mkdir(parents=True, exist_ok=True)
        with self.turn():
            keep_identity(self.path, identity, marker=IDENTITY, what="search")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until no other process is at the study."""
        with awaited(self.path):
            yield

    @contextmanager
    def worker(self) -> Iterator[str]:
        """A name that is alive until the block ends, or the process does."""
        file = self.path / WORKERS / f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        with file.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                yield file.name
            finally:
                file.unlink(missing_ok=True)

    def is_alive(self, worker: str) -> bool:
        """Whether a worker of this name is at work; the remains of a dead one are removed."""
        file = self.path / WORKERS / worker
        try:
            with file.open("r") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        file.unlink(missing_ok=True)
        return False
