"""A live line of losses while a run trains."""

import sys
from collections.abc import Callable
from typing import Any

import typer

from mmalign.errors import ConfigError
from mmalign.estimator.lines import epoch_line, modality_line
from mmalign.progress import Display, start_bar


class LiveLine(Display):
    """A progress bar with the latest losses on a terminal; one plain line an epoch elsewhere.

    The bar moves from the start: a first epoch that compiles its kernels takes a while.
    """

    def __init__(self, *, is_on: bool, events: Callable[[], Any] | None = None) -> None:
        self.is_on = is_on
        self.events = events
        self.writer: Any = None
        self.has_total = False

    def __enter__(self) -> "LiveLine":
        if self.is_on and sys.stderr.isatty():
            self.bar = start_bar("first epoch", None)
        return self

    def show(self, record: dict[str, Any], training: Any) -> None:
        """Show an epoch's record, and hand it to TensorBoard."""
        if not self.is_on:
            return
        if self.events is not None:
            # Opened with the first epoch: before, the run directory must be left to the run.
            self.writer = self.writer or self.events()
            _write_events(record, self.writer)
        text = epoch_line(record, training.config.warm_up_epochs)
        if not sys.stderr.isatty():
            typer.echo(text, err=True)
            return
        if not self.has_total:
            # Only a bar that has shown an epoch is worth keeping; the first one makes way for it.
            self.stop()
            self.bar = start_bar("", training.config.epochs, is_kept=True)
            self.has_total = True
        self.bar.update(self.bar.task_ids[0], completed=record["epoch"], description=text)


class ModalityLine(Display):
    """A bar over the modalities on a terminal; one plain line each elsewhere."""

    def __init__(self, *, is_on: bool, events: Callable[[], Any] | None = None) -> None:
        if events is not None:
            raise ConfigError("--tensorboard: experts have no losses to show; remove the option")
        self.is_on = is_on

    def __enter__(self) -> "ModalityLine":
        if self.is_on and sys.stderr.isatty():
            self.bar = start_bar("first modality", None)  # how many there are is told with it
        return self

    def show(self, record: dict[str, Any], modalities: list[str]) -> None:
        """Show that a modality is learned; `modalities` are all that there are."""
        name, total = record["modality"], len(modalities)
        is_joint = name not in modalities
        done = total if is_joint else modalities.index(name) + 1
        learned = modality_line(name, record["clips"], record["skill"])
        if not sys.stderr.isatty():
            which = "read together" if is_joint else f"{done} of {total}"
            typer.echo(f"{learned} ({which})", err=True)
            return
        rest = ["weights"] if is_joint else [*modalities[done:], "pairs"]
        text = f"{learned}; now {rest[0]}"
        self.bar.update(self.bar.task_ids[0], total=total + 1, completed=done, description=text)


def _write_events(record: dict[str, Any], writer: Any) -> None:
    epoch = record["epoch"]
    for name, value in record["losses"].items():
        writer.add_scalar(f"loss/{name}", value, epoch)
    for setting, metrics in record["valid"].items():
        for name, value in metrics.items():
            writer.add_scalar(f"valid {setting}/{name}", value, epoch)
    writer.flush()
