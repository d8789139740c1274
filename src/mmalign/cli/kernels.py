"""Compile kernels at their first use on a machine, and say so."""

import os
import subprocess
import sys
from pathlib import Path

import typer

from mmalign.progress import start_bar

MODULE = "mmalign.experts.compile"


def compile_once() -> None:
    """Compile all kernels behind a progress bar, unless the cache has some.

    A process of its own does it, so that workers find them all. If it fails, they are compiled
    where they are needed.
    """
    if _are_kept():
        return
    told = "first use: compiling kernels for this machine (a minute or two)"
    bar = start_bar(told, None) if sys.stderr.isatty() else None
    if bar is None:
        typer.echo(told, err=True)
    try:
        command = [sys.executable, "-m", MODULE]
        subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    finally:
        if bar is not None:
            bar.stop()


def _are_kept() -> bool:
    """Whether compiled kernels lie beside the source, or where they are kept otherwise."""
    from mmalign.align.kernels.private import private_folder

    told = os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(told)] if told else [Path(__file__).parents[1], private_folder()]
    return any(next(place.rglob("*.nbi"), None) for place in places if place is not None)
