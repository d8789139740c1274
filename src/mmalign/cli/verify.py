"""`mmalign data verify`: what a file is, and what is off about it."""

from pathlib import Path
from typing import Annotated

import typer

from mmalign.cli import options
from mmalign.errors import shown

MARKS = {"good": "ok  ", "note": "note", "off": "OFF "}


def verify(
    path: Annotated[Path, typer.Argument(help="File or directory of any supported format.")],
    label: options.Label = None,
    vectors: options.Vectors = None,
) -> None:
    """Compare a dataset with the published ones: hashes, counts, folds, page checksums.

    Exits with 1 if something is off.
    """
    from mmalign.data.known import verify as check
    from mmalign.data.readers import ReadOptions

    findings = check(path, ReadOptions(label=label, vectors=vectors))
    for finding in findings:
        typer.echo(f"{MARKS[finding.verdict]}  {shown(finding.text)}")
    if any(finding.verdict == "off" for finding in findings):
        raise typer.Exit(1)
