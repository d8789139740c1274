"""Hand jobs to a crew, in order, until each is done or has failed."""

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from mmalign.errors import MMAlignError
from mmalign.experiments.engines.contract import Crew, Event
from mmalign.experiments.engines.worker import record_failure
from mmalign.experiments.job import Job
from mmalign.experiments.site import Site

REST_SECONDS = 0.5
"""How long a job that another engine is at is left alone."""

TRIES = 2
"""A worker may be lost by no fault of its job; two of them are no accident."""

LOSSES = 6
"""So many workers lost in a row, and not one job ended: there is no use in going on."""


def dispatch(crew: Crew, site: Site, jobs: Iterable[tuple[str, Job]]) -> Iterator[Event]:
    """Yield what happens: every job ends with one event, `done` or `failed`.

    A job is taken from `jobs` when a worker is free for it, so that what comes next may depend on
    the events before.

    Args:
        crew: The workers.
        site: Where errors are recorded.
        jobs: Jobs by address, each once.

    Raises:
        MMAlignError: If workers die one after the other.
    """
    arriving = iter(jobs)
    known: dict[str, Job] = {}
    running: set[str] = set()
    again: dict[str, float] = {}  # jobs to try once more, and when
    losses: Counter[str] = Counter()
    in_a_row = 0
    while True:
        now = time.monotonic()
        due = [(address, known[address]) for address, when in again.items() if when <= now]
        free = crew.size - len(running)
        for address, job in itertools.islice(itertools.chain(due, arriving), free):
            again.pop(address, None)
            known[address] = job
            running.add(address)
            crew.start(address, job)
            yield Event(address, "started")
        if not (running or again):
            return
        for event in crew.wait(_patience(again) if len(running) < crew.size else None):
            running.remove(event.address)
            in_a_row = in_a_row + 1 if event.state == "died" else 0
            if in_a_row == LOSSES:
                raise MMAlignError(f"workers die one after the other: {event.error}")
            if event.state == "busy":
                again[event.address] = time.monotonic() + REST_SECONDS
            elif event.state == "died":
                losses[event.address] += 1
                if losses[event.address] < TRIES:
                    again[event.address] = 0.0
                else:
                    record_failure(site.error_file(event.address), event.error)
                    event = Event(event.address, "failed", event.error)
            yield event


def _patience(again: dict[str, float]) -> float | None:
    """Seconds until the next job may be tried once more; None if none waits."""
    if not again:
        return None
    return max(0.0, min(again.values()) - time.monotonic())
