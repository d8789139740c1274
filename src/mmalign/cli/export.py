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
    """Write a run as an ONNX file: any subset of the modalities, raw features, no mmalign needed.

    Its answers are compared with the run's own; if they differ by more than 1e-5, nothing is
    written.
    """
    import mmalign
    from mmalign.export.writing import export_onnx

    done = export_onnx(mmalign.load(run, device="cpu"), out)
    takes = ", ".join(f"{name} [batch, time, {dim}]" for name, dim in done.dims.items())
    typer.echo(f"{to}: {done.path} ({done.size / 1e6:.1f} MB)")
    typer.echo(f"takes {takes}, and <modality>.length [batch], 0 where it is missing")
    typer.echo(f"at most {done.difference:.1e} away from the run's own answers on made-up clips")
