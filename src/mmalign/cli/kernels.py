"""Compile kernels at their first use on a machine, and say so."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Literal, NamedTuple

from mmalign.progress import Display, start_bar

Part = Literal["experts", "network", "alignment"]


class _Compiler(NamedTuple):
    """What compiles a part, and files that its kernels leave in a cache."""

    module: str
    kept: str


COMPILERS: dict[Part, _Compiler] = {
    "experts": _Compiler("mmalign.experts.compile", "taps_slopes.*.nbi"),
    "network": _Compiler("mmalign.model.compile", "clip.*.nbi"),
    "alignment": _Compiler("mmalign.align.compile", "solve.*.nbi"),
}


def compile_once(*parts: Part) -> None:
    """Compile the kernels of some parts behind a progress bar, unless the cache has them.

    Each part has a process of its own, so that workers find all kernels. If one fails, they are
    compiled where they are needed.
    """
    missing = [COMPILERS[part].module for part in parts if not _is_kept(COMPILERS[part].kept)]
    if not missing:
        return
    told = "first use: compiling kernels for this machine (a minute or two)"
    with Display() as display:
        if sys.stderr.isatty():
            display.bar = start_bar(told, None)
        else:
            display.say(told)
        _compile(missing)


def _compile(modules: list[str]) -> None:
    """Run the modules side by side, and wait for all of them."""
    silent = subprocess.DEVNULL
    running = [
        subprocess.Popen([sys.executable, "-m", module], stdout=silent, stderr=silent)  # noqa: S603
        for module in modules
    ]
    try:
        for process in running:
            process.wait()
    finally:
        for process in running:
            process.kill()


def _is_kept(files: str) -> bool:
    """Whether compiled kernels lie beside the source, or where they are kept otherwise."""
    from mmalign.align.kernels.private import private_folder

    told = os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(told)] if told else [Path(__file__).parents[1], private_folder()]
    return any(next(place.rglob(files), None) for place in places if place is not None)
