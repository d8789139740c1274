"""Progress bars, on a terminal only; `track` waits two seconds before it shows one."""

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any, TypeVar

Item = TypeVar("Item")
Shown = TypeVar("Shown", bound="Display")

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


def start_bar(
    description: str, total: int | None, *, is_kept: bool = False, left: str | None = None
) -> Any:
    """A started bar with one task on stderr.

    Args:
        description: What stands behind the bar; it is cut where the line ends.
        total: How many steps there are, if that is known.
        is_kept: Whether its last state stays when it is stopped.
        left: How long it will take, from a caller with a better estimate than the pace so far.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column

    counted = Column(min_width=2 * len(str(total)) + 1)
    rest = Column(no_wrap=True, overflow="ellipsis", ratio=1)
    bar = Progress(
        BarColumn(bar_width=20, table_column=Column(min_width=20)),
        MofNCompleteColumn(table_column=counted),
        TimeRemainingColumn()
        if left is None
        else TextColumn("{task.fields[left]} left", table_column=Column(min_width=12)),
        TextColumn("{task.description}", markup=False, table_column=rest),
        console=Console(stderr=True),
        transient=not is_kept,
        expand=True,
    )
    bar.add_task(description, total=total, left=left)
    bar.start()
    return bar


class Display:
    """What a command shows while it works: a bar on a terminal, plain lines elsewhere."""

    bar: Any = None

    def __enter__(self: Shown) -> Shown:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def say(self, text: str) -> None:
        """Print a line; on a terminal, above the bar."""
        if self.bar is None:
            sys.stderr.write(f"{text}\n")
        else:
            self.bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def stop(self) -> None:
        """Remove the bar, so that others can write to the terminal."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
