"""Stops that are asked for, by Ctrl-C or SIGTERM: a command says what is saved, and ends."""

import signal
from pathlib import Path
from types import FrameType

import typer

INTERRUPTED, TERMINATED = 130, 143


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, which is taken as Ctrl-C is."""


def heed_termination() -> None:
    """Let SIGTERM end the process as Ctrl-C does: what is open is closed, workers are ended."""
    signal.signal(signal.SIGTERM, _terminate)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the second one ends it at once
    raise TerminatedError


def exit_code(stop: KeyboardInterrupt) -> int:
    """What a shell expects of a process that a signal ended."""
    return TERMINATED if isinstance(stop, TerminatedError) else INTERRUPTED


def say_stopped(stop: KeyboardInterrupt, saved: str, out: Path) -> typer.Exit:
    """Tell what is saved and how to go on; returns what to raise."""
    typer.echo(f"stopped: {saved}; the same command goes on. {out}", err=True)
    return typer.Exit(exit_code(stop))
