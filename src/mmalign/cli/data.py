"""`mmalign data …`: look at datasets and convert them."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mmalign.cli import options
from mmalign.cli.verify import verify

app = typer.Typer(help="Look at datasets, convert and verify them.", no_args_is_help=True)


Source = Annotated[
    str, typer.Argument(help="Directory or file of any supported format; or smartwatch, twin.")
]

app.command()(verify)


@app.command()
def inspect(
    path: Source,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    label: options.Label = None,
    vectors: options.Vectors = None,
) -> None:
    """Show what a dataset holds: splits, modalities, lengths, labels, missing, floors."""
    from mmalign.data.loading import open_dataset
    from mmalign.data.readers import ReadOptions
    from mmalign.evaluation.inspection import inspect_dataset

    dataset = open_dataset(path, ReadOptions(label=label, vectors=vectors))
    description = inspect_dataset(dataset)
    if as_json:
        typer.echo(json.dumps(description, indent=2, allow_nan=False, default=str))
        return
    from mmalign.cli.tables import print_description

    print_description(path, description)


@app.command()
def convert(
    source: Source,
    out: Annotated[Path, typer.Argument(help="Directory to create, in the native format.")],
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
) -> None:
    """Convert any supported format to the native one: Parquet files that any tool reads."""
    from mmalign.data.loading import load_dataset
    from mmalign.data.native import write_native

    dataset = load_dataset(source, non_finite=non_finite, label=label, vectors=vectors)
    write_native(dataset, out)
    for note in dataset.notes:
        typer.echo(f"note: {note}")
    counts = ", ".join(f"{name} {len(split)}" for name, split in dataset.splits.items())
    dims = ", ".join(f"{name} {dim}" for name, dim in dataset.dims.items())
    typer.echo(f"{out}: {counts} clips; {dims} dims")
