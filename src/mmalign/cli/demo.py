"""`mmalign demo`: the main job on the data that comes with the install."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(help="Directory for pictures and results.")] = Path(
        "demo-output"
    ),
) -> None:
    """Show the smartwatch data, and what it looks like when the gyroscope dies."""
    from mmalign.cli.tables import print_description
    from mmalign.data import Protocol, smartwatch
    from mmalign.evaluation.inspection import inspect_dataset
    from mmalign.experiments.pictures import draw_clips, draw_missingness

    dataset = smartwatch()
    print_description("smartwatch", inspect_dataset(dataset))
    versions = [("all there", dataset)]
    for setting in ("A", "B"):
        protocol = Protocol(
            visible="accelerometer", victim="gyroscope", survival=0.1, setting=setting
        )
        versions.append((f"survival 10 %, setting {setting}", protocol.apply(dataset)))
    out.mkdir(parents=True, exist_ok=True)
    draw_clips(versions[1][1], out / "clips.png")
    draw_missingness(versions, out / "missingness.png")
    typer.echo(f"pictures: {out / 'clips.png'}, {out / 'missingness.png'}")
