"""`mmalign data …`: inspect, convert, split and verify datasets."""

import json
from pathlib import Path
from typing import Annotated

import typer

from mmalign.cli import options
from mmalign.cli.examples import examples
from mmalign.cli.verify import verify

app = typer.Typer(
    help="Inspect, convert, split and verify datasets.",
    epilog=examples("data"),
    no_args_is_help=True,
)


Source = Annotated[
    str, typer.Argument(help="Path of a dataset in any supported format, or smartwatch or twin.")
]

app.command(epilog=examples("data verify"))(verify)


@app.command(epilog=examples("data inspect"))
def inspect(
    path: Source,
    as_json: options.AsJson = False,
    label: options.Label = None,
    vectors: options.Vectors = None,
) -> None:
    """Show splits, modalities, lengths, labels and missing values of a dataset."""
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


@app.command(epilog=examples("data convert"))
def convert(
    source: Source,
    out: Annotated[Path, typer.Argument(help="Directory to create.")],
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
) -> None:
    """Convert a dataset to the native format: Parquet files that any tool reads."""
    from mmalign.data.loading import load_dataset
    from mmalign.data.native import write_native

    dataset = load_dataset(source, non_finite=non_finite, label=label, vectors=vectors)
    write_native(dataset, out)
    for note in dataset.notes:
        typer.echo(f"note: {note}")
    counts = ", ".join(f"{name} {len(split)}" for name, split in dataset.splits.items())
    dims = ", ".join(f"{name} {dim}" for name, dim in dataset.dims.items())
    typer.echo(f"{out}: {counts} clips; {dims} dims")


@app.command(epilog=examples("data split"))
def split(
    source: Source,
    out: Annotated[Path, typer.Argument(help="Directory to create.")],
    by: Annotated[
        str,
        typer.Option(
            help="Unit that stays in one split: subject, video, … if the data names it; clip; or a "
            "regular expression whose parentheses match that part of the id."
        ),
    ] = "group",
    valid: Annotated[float, typer.Option(help="Share of clips for validation.")] = 0.1,
    test: Annotated[
        float | None, typer.Option(help="Share of clips for testing. Default: 0.2")
    ] = None,
    test_from: Annotated[
        str | None, typer.Option(help="Dataset to use as the test split, instead of --test.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random assignment.")] = 0,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
) -> None:
    """Split clips into train, valid and test, each person or video in one only."""
    from mmalign.cli.dealing import chosen_groups, describe_split, shares
    from mmalign.data import load_dataset, split_by_group, write_native
    from mmalign.data.splitting import with_test_from

    wanted = shares(valid, test, test_from)
    dataset = load_dataset(source, non_finite=non_finite, label=label, vectors=vectors)
    groups = chosen_groups(by)
    dealt = split_by_group(dataset, **wanted, seed=seed, groups=groups)
    if test_from is not None:
        other = load_dataset(test_from, non_finite=non_finite, label=label, vectors=vectors)
        dealt = with_test_from(dealt, other)
    write_native(dealt, out)
    for line in describe_split(dealt, groups):
        typer.echo(line)
    typer.echo(f"written: {out}; next: mmalign train {out} --out run")
