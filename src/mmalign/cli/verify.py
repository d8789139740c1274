"""`mmalign data verify`: what a file is, and what is off about it."""

from pathlib import Path
from typing import Annotated

import typer

from mmalign.cli import options
from mmalign.errors import shown

MARKS = {"good": "ok  ", "note": "note", "off": "OFF "}


def verify(
    path: Annotated[Path, typer.Argument(help="Path of a dataset, or smartwatch or twin.")],
    label: options.Label = None,
    vectors: options.Vectors = None,
) -> None:
    """Check hashes, counts, folds and page checksums against published datasets.

    Exits with 1 if a check fails.
    """
    from mmalign.data.known import verify as check
    from mmalign.data.readers import ReadOptions

    findings = check(path, ReadOptions(label=label, vectors=vectors))
    for finding in findings:
        typer.echo(f"{MARKS[finding.verdict]}  {shown(finding.text)}")
    if any(finding.verdict == "off" for finding in findings):
        raise typer.Exit(1)
