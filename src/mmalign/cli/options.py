"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from mmalign.errors import ConfigError

Data = Annotated[
    str, typer.Argument(help="Dataset: directory or file of any supported format, or a name.")
]
RunPath = Annotated[str, typer.Argument(help="Run directory, as mmalign train wrote it.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, …")]
Threads = Annotated[int, typer.Option(min=1, help="Threads; one is fastest for small models.")]
Label = Annotated[str | None, typer.Option(help="Which label to take where there are several.")]
Vectors = Annotated[Path | None, typer.Option(help="Word vectors for files that store words only.")]
NonFinite = Annotated[
    Literal["reject", "zero", "clip"], typer.Option(help="What to do about NaN and infinity.")
]


def split_list(text: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_seeds(text: str) -> list[int]:
    """Seeds from `5` (the first five), `0-4` or `0,3,7`.

    Raises:
        ConfigError: If it is none of these.
    """
    if text.strip().isdecimal():
        seeds = list(range(int(text)))
    else:
        try:
            seeds = [seed for part in split_list(text) for seed in seed_range(part)]
        except ValueError as error:
            raise ConfigError(f"--seeds: {text!r} is none of 5, 0-4 and 0,3,7") from error
    if not seeds:
        raise ConfigError(f"--seeds: {text!r} leaves none; give a number of 1 or more")
    return seeds


def seed_range(part: str) -> range:
    """`3` or `0-4`; anything else is a ValueError."""
    first, dash, last = part.partition("-")
    return range(int(first), int(last if dash else first) + 1)
