"""The directory of a search: it belongs to one search, and processes take turns in it."""

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmalign.claim import awaited
from mmalign.errors import MMAlignError
from mmalign.training.records import keep_identity

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
        self._refuse_foreign()
        (self.path / WORKERS).mkdir(parents=True, exist_ok=True)
        with self.turn():
            self._check_identity(identity)

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

    def _refuse_foreign(self) -> None:
        if not self.path.exists() or (self.path / IDENTITY).exists():
            return
        is_ours = self.path.is_dir() and all(p.name.startswith(".") for p in self.path.iterdir())
        if not is_ours:
            raise MMAlignError(
                f"{self.path}: exists and is no directory of a search. Give another --out."
            )

    def _check_identity(self, identity: dict[str, Any]) -> None:
        changes = keep_identity(self.path / IDENTITY, identity)
        if changes:
            raise MMAlignError(
                f"{self.path}: holds another search; {'; '.join(changes)}. "
                "Give another --out, or the options it was started with."
            )
