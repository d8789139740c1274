"""`mmalign export`: a run as one file that runs without mmalign."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from mmalign.cli import options


def export(
    run: options.RunPath,
    to: Annotated[Literal["onnx"], typer.Option(help="Format to write.")] = "onnx",
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("model.onnx"),
) -> None:
    """Write a run as an ONNX file that runs without mmalign.

    The file takes raw features of any subset of the modalities.

    Nothing is written if its outputs differ from the run's by more than 1e-5.
    """
    import mmalign
    from mmalign.export.writing import export_onnx

    done = export_onnx(mmalign.load(run, device="cpu"), out)
    takes = ", ".join(f"{name} [batch, time, {dim}]" for name, dim in done.dims.items())
    typer.echo(f"{to}: {done.path} ({done.size / 1e6:.1f} MB)")
    typer.echo(f"inputs: {takes}; and <modality>.length [batch], 0 if missing")
    typer.echo(f"largest difference from the run on made-up clips: {done.difference:.1e}")
