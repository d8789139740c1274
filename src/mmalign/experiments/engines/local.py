"""Worker processes on this machine, which start in milliseconds and end with the engine."""

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from mmalign.experiments.engines.contract import Event
from mmalign.experiments.engines.nursery import Nursery
from mmalign.experiments.engines.threads import cores
from mmalign.experiments.engines.worker import Worker
from mmalign.experiments.job import Job
from mmalign.experiments.site import Site

LOG = "workers.log"


class LocalEngine:
    """Worker processes on this machine, one thread each.

    Args:
        workers: How many at a time; one a core if None.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or cores()

    def __enter__(self) -> "LocalEngine":
        self._nursery = Nursery(serve)
        return self

    def __exit__(self, *_: object) -> None:
        self._nursery.close()

    def hire(self, site: Site, *, jobs: int) -> "LocalCrew":
        """A crew for so many jobs of this directory."""
        return LocalCrew(self._nursery, site, min(self.workers, jobs))


@dataclass
class Hand:
    """A worker process, the line to it, and the address of what it is at."""

    pid: int
    line: Connection
    address: str | None = None


class LocalCrew:
    """Worker processes that do the jobs of one directory; they are hired when they are needed."""

    def __init__(self, nursery: Nursery, site: Site, size: int) -> None:
        self.size = size
        self._nursery = nursery
        self._site = site
        self._hands: list[Hand] = []

    def start(self, address: str, job: Job) -> None:
        """Give a job to a worker that has none, or to a new one."""
        idle = (hand for hand in self._hands if hand.address is None)
        hand = next(idle, None) or self._hired()
        hand.address = address
        # A worker that is gone is noticed by `wait`, like one that goes while it works.
        _tell(hand.line, (address, job))

    def wait(self, timeout_seconds: float | None) -> Sequence[Event]:
        """What became of jobs since."""
        speaking = wait([hand.line for hand in self._hands], timeout_seconds)
        events = [self._heard(hand) for hand in [*self._hands] if hand.line in speaking]
        return [event for event in events if event is not None]

    def _heard(self, hand: Hand) -> Event | None:
        """What a worker has to say, or how it ended."""
        try:
            event: Event = hand.line.recv()
        except (EOFError, OSError):
            self._hands.remove(hand)
            hand.line.close()
            code = self._nursery.bury(hand.pid)
            return None if hand.address is None else Event(hand.address, "died", self._cause(code))
        hand.address = None
        return event

    def _hired(self) -> Hand:
        hand = Hand(*self._nursery.fork())
        self._hands.append(hand)
        _tell(hand.line, self._site)
        return hand

    def _cause(self, code: int) -> str:
        if code == -signal.SIGKILL:
            return "its worker was killed (SIGKILL); perhaps the machine ran out of memory"
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"its worker ended ({how}); see {self._site.folder / LOG}"


def _tell(line: Connection, message: Any) -> None:
    try:
        line.send(message)
    except OSError:  # the other end is gone
        return


def serve(receive: Callable[[], Any], send: Callable[[Event], None]) -> None:
    """Do job after job in a worker process; the site comes first."""
    site: Site = receive()
    _print_into(site.folder / LOG)
    worker = Worker(site)
    while True:
        send(worker.attempt(*receive()))


def _print_into(file: Path) -> None:
    """Send what libraries print into a file: the terminal belongs to the progress bar."""
    with file.open("ab") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
