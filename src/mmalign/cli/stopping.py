"""Ctrl-C and SIGTERM: a command says what is saved, and exits."""

import signal
from pathlib import Path
from types import FrameType

import typer

INTERRUPTED, TERMINATED = 130, 143


class TerminatedError(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C."""


def heed_termination() -> None:
    """Let SIGTERM end the process as Ctrl-C does, closing files and ending workers."""
    signal.signal(signal.SIGTERM, _terminate)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the second one ends it at once
    raise TerminatedError


def exit_code(stop: KeyboardInterrupt) -> int:
    """The exit code that shells expect of a process ended by a signal."""
    return TERMINATED if isinstance(stop, TerminatedError) else INTERRUPTED


def say_stopped(stop: KeyboardInterrupt, saved: str, out: Path) -> typer.Exit:
    """Say what is saved and how to resume; returns the exception to raise."""
    typer.echo(f"stopped: {saved} in {out}. Run the same command again to resume.", err=True)
    return typer.Exit(exit_code(stop))
