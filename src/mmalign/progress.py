"""Progress bars for work that takes more than two seconds, on a terminal only."""

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

Item = TypeVar("Item")

DELAY_SECONDS = 2.0


def track(items: Iterable[Item], description: str, *, total: int | None = None) -> Iterator[Item]:
    """Yield the items; once two seconds have passed and stderr is a terminal, show a bar."""
    if not sys.stderr.isatty():
        yield from items
        return
    if total is None and isinstance(items, Sized):
        total = len(items)
    bar: Any = None
    started = time.monotonic()
    try:
        for done, item in enumerate(items):
            if bar is None and time.monotonic() - started > DELAY_SECONDS:
                bar = start_bar(description, total)
            if bar is not None:
                bar.update(bar.task_ids[0], completed=done)
            yield item
    finally:
        if bar is not None:
            bar.stop()


def start_bar(description: str, total: int | None, *, is_kept: bool = False) -> Any:
    """A started bar with one task on stderr; whether its last state stays when it is stopped."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = BarColumn(bar_width=20), MofNCompleteColumn(), TimeRemainingColumn()
    text = TextColumn("{task.description}")
    bar = Progress(*columns, text, console=Console(stderr=True), transient=not is_kept)
    bar.add_task(description, total=total)
    bar.start()
    return bar
