"""Hand jobs to a crew, in order, until each is done or has failed."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping

from mmalign.errors import MMAlignError
from mmalign.experiments.engines.contract import Crew, Event
from mmalign.experiments.engines.worker import record_failure
from mmalign.experiments.grid import Grid
from mmalign.experiments.job import Job

REST_SECONDS = 0.5
"""How long a job that another engine is at is left alone."""

TRIES = 2
"""A worker may be lost by no fault of its job; two of them are no accident."""

LOSSES = 6
"""So many workers lost in a row, and not one job ended: there is no use in going on."""


def dispatch(crew: Crew, grid: Grid, jobs: Mapping[str, Job]) -> Iterator[Event]:
    """Yield what happens: every job ends with one event, `done` or `failed`.

    Raises:
        MMAlignError: If workers die one after the other.
    """
    waiting: dict[str, float] = dict.fromkeys(jobs, 0.0)  # and when to try
    running: set[str] = set()
    losses: Counter[str] = Counter()
    in_a_row = 0
    while waiting or running:
        for address in _ready(waiting)[: crew.size - len(running)]:
            del waiting[address]
            running.add(address)
            crew.start(address, jobs[address])
            yield Event(address, "started")
        for event in crew.wait(_patience(waiting) if len(running) < crew.size else None):
            running.remove(event.address)
            in_a_row = in_a_row + 1 if event.state == "died" else 0
            if in_a_row == LOSSES:
                raise MMAlignError(f"workers die one after the other: {event.error}")
            if event.state == "busy":
                waiting[event.address] = time.monotonic() + REST_SECONDS
            elif event.state == "died":
                losses[event.address] += 1
                if losses[event.address] < TRIES:
                    waiting[event.address] = 0.0
                else:
                    record_failure(grid.site.error_file(event.address), event.error)
                    event = Event(event.address, "failed", event.error)
            yield event


def _ready(waiting: Mapping[str, float]) -> list[str]:
    now = time.monotonic()
    return [address for address, when in waiting.items() if when <= now]


def _patience(waiting: Mapping[str, float]) -> float | None:
    """Seconds until the next job may be tried; None if none waits."""
    if not waiting:
        return None
    return max(0.0, min(waiting.values()) - time.monotonic())
