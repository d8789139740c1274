"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Literal

import typer

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
