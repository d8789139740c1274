"""How far a grid has come: a bar with the time left on a terminal, plain lines elsewhere."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mmalign.cli.stopping import say_stopped
from mmalign.progress import Display, start_bar

if TYPE_CHECKING:
    from mmalign.experiments.engines.contract import Engine, Event
    from mmalign.experiments.grid import Grid
    from mmalign.experiments.keeping import Keep


def run_visibly(grid: "Grid", engine: "Engine", out: Path, *, keep: "Keep" = "weights") -> None:
    """Run what is to do of a grid; if it is stopped, say what is saved and how to go on."""
    from mmalign.experiments.running import run_grid

    with GridProgress(grid) as progress:
        try:
            run_grid(grid, engine, progress.show, keep=keep)
        except KeyboardInterrupt as stop:
            progress.stop()
            done, total = len(grid.jobs) - len(grid.pending()), len(grid.jobs)
            raise say_stopped(stop, f"{done} of {total} runs are done", out) from None


class GridProgress(Display):
    """Shows events of a grid on stderr."""

    def __init__(self, grid: "Grid") -> None:
        from mmalign.experiments.cost import relative_cost

        self.grid = grid
        self.total = len(grid.jobs)
        self.costs = {address: relative_cost(job) for address, job in grid.pending().items()}
        self.done = self.total - len(self.costs)
        self.failed = 0
        self.running: list[str] = []
        self.started = time.monotonic()
        self.work = sum(self.costs.values())

    def __enter__(self) -> "GridProgress":
        if self.done:
            typer.echo(f"{self.done} of {self.total} runs are already done", err=True)
        if sys.stderr.isatty() and self.costs:
            self.bar = start_bar("", self.total, is_kept=True, left=_clock(None))
            self._update()
        return self

    def show(self, event: "Event") -> None:
        """Take an event in, and show where the grid stands."""
        if event.state == "started":
            self.running.append(event.address)
        else:
            self.running.remove(event.address)
        if event.state in ("done", "failed"):
            self.done += event.state == "done"
            self.failed += event.state == "failed"
            del self.costs[event.address]
            what = self.grid.describe(event.address)
            self._say(f"{what}: {event.state}" + (f", {event.error}" if event.error else ""))
        elif event.state == "died":
            self._say(f"{self.grid.describe(event.address)}: {event.error}; trying once more")
        self._update()

    def seconds_left(self) -> float | None:
        """Estimate at the pace so far; None before anything is done."""
        left = sum(self.costs.values())
        if left == self.work:
            return None
        return (time.monotonic() - self.started) * left / (self.work - left)

    def _say(self, text: str) -> None:
        """Print a line; on a terminal, only what went wrong."""
        if self.bar is None:
            left = f", {_clock(self.seconds_left())} left" if self.costs else ""
            counted = f"[{self.done + self.failed}/{self.total}{left}]"
            typer.echo(f"{counted} {text}", err=True)
        elif not text.endswith(": done"):
            self.say(text)

    def _update(self) -> None:
        if self.bar is None:
            return
        failed = [f"{self.failed} failed"] if self.failed else []
        running = [self.grid.describe(address) for address in self.running]
        self.bar.update(
            self.bar.task_ids[0],
            completed=self.done + self.failed,
            left=_clock(self.seconds_left()),
            description=" | ".join([*failed, *running]),
        )


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
