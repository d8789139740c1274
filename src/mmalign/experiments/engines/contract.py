"""The contract: an engine hires a crew, which does jobs and reports what became of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from mmalign.experiments.job import Job
from mmalign.experiments.site import Site

State = Literal["started", "done", "failed", "busy", "died"]


@dataclass(frozen=True)
class Event:
    """What became of a job.

    Attributes:
        address: Which job.
        state: `started`; `done`, by this crew or another; `failed`, and its error is recorded;
            `busy`: another engine is at it; `died`: its worker ended before its time.
        error: Why, in one line, if it failed or died.
        is_divergence: Whether it failed because a loss was not finite, as it would again.
    """

    address: str
    state: State
    error: str = ""
    is_divergence: bool = False


@runtime_checkable
class Crew(Protocol):
    """Workers that do the jobs of one directory; at most `size` of them at a time."""

    size: int

    def start(self, address: str, job: Job) -> None:
        """Give a job to a worker that has none; there must be one."""

    def wait(self, timeout_seconds: float | None) -> Sequence[Event]:
        """What became of jobs since; nothing if the time is over."""


@runtime_checkable
class Engine(Protocol):
    """Where crews come from. Enter it first thing: before data is read and threads are started."""

    def __enter__(self) -> "Engine":
        """Get ready."""

    def __exit__(self, *_: object) -> None:
        """Stop all workers at once; what they were at goes on from its last epoch next time."""

    def hire(self, site: Site, *, jobs: int) -> Crew:
        """A crew for so many jobs of this directory: never more workers than jobs."""
