"""`mmalign evaluate` and `predict`: a trained run on data."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from mmalign.cli import options


def evaluate(
    run: options.RunPath,
    data: options.Data,
    split: Annotated[str, typer.Option(help="Split to score.")] = "test",
    without: options.Without = None,
    as_is: Annotated[
        bool, typer.Option("--as-is", help="Score complete clips, without the masks of the run.")
    ] = False,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
    device: options.Device = "auto",
    threads: options.Threads = 1,
    as_json: options.AsJson = False,
) -> None:
    """Print the metrics of a run on labelled data, beside those of a constant.

    The data that the run was trained on is scored under the run's masks.

    Other data, even with the same ids, is scored without masks.
    """
    from mmalign.cli.tables import print_scores
    from mmalign.data import load_dataset
    from mmalign.data.likeness import require_kind_of
    from mmalign.errors import located
    from mmalign.evaluation.floors import constant_floor

    model = options.load_model(run, device, threads)
    dataset = load_dataset(data, non_finite=non_finite, label=label, vectors=vectors)
    _require_split(dataset, split)
    with located(file=data):
        require_kind_of(dataset, [split], model.dims, model.known_task())
    seen = dataset if as_is else _under_masks(run, dataset, split, model, as_json=as_json)
    clips = options.take_away(_readable(seen[split], model, split), without, model, split)
    scores = {"run": model.metrics(clips)}
    train = dataset.splits.get("train")
    if train is not None and train.labels is not None and clips.labels is not None:
        scores["floor"] = constant_floor(dataset.task, train.labels, clips.labels)
    if as_json:
        typer.echo(json.dumps({"split": split, "clips": len(clips), **scores}, indent=2))
        return
    typer.echo(f"{len(clips)} clips of {split}, {_presence(clips, model)}")
    print_scores(scores)


def predict(
    run: options.RunPath,
    data: options.Data,
    out: Annotated[
        Path, typer.Option(help="File to write: .parquet, .csv or .jsonl; - prints CSV.")
    ] = Path("predictions.parquet"),
    split: Annotated[str | None, typer.Option(help="Split to predict. Default: all.")] = None,
    without: options.Without = None,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
    device: options.Device = "auto",
    threads: options.Threads = 1,
) -> None:
    """Write a prediction for every clip of a dataset."""
    from mmalign.cli.writing import STDOUT, check_ending, write_table
    from mmalign.data import load_dataset
    from mmalign.data.likeness import require_modalities_of
    from mmalign.errors import located

    check_ending(out)
    model = options.load_predictor(run, device, threads)
    dataset = load_dataset(data, non_finite=non_finite, label=label, vectors=vectors)
    if split is not None:
        _require_split(dataset, split)
    with located(file=data):
        require_modalities_of(dataset, model.dims)
    names = dataset.splits if split is None else [split]
    whole = {name: _readable(dataset[name], model, name) for name in names}
    splits = {name: options.take_away(part, without, model, name) for name, part in whole.items()}
    table = model.table(splits)
    write_table(table, out)
    if out != STDOUT:
        typer.echo(f"{len(table)} predictions: {out}")


def _require_split(dataset: Any, split: str) -> None:
    """Check that there is such a split; the error tells of the option that chooses another."""
    from mmalign.errors import DataError

    if split not in dataset.splits:
        others = " or ".join(f"--split {name}" for name in dataset.splits)
        fix = f"Choose {others}, or split the clips again with mmalign data split."
        raise DataError(f"there is no {split} split", fix=fix)


def _readable(split: Any, model: Any, name: str) -> Any:
    """The clips that the model can answer for; a pair says itself what it needs."""
    return split if model.needs else options.having_any(split, model.reads, name)


def _under_masks(run: str, dataset: Any, split: str, model: Any, *, as_json: bool) -> Any:
    """The dataset as the run's masks leave it, if it is the one the run was trained on."""
    from mmalign.runs.manifest import is_trained_on, load_masks

    masks = load_masks(Path(run)) if model.is_masked else None
    if masks is None or not masks.missing.get(split):
        return dataset
    # Ids alone may be numbers that any file has.
    if is_trained_on(Path(run), dataset, list(model.reads)):
        typer.echo("scored under the masks of the run; --as-is scores without them", err=as_json)
        return masks.apply(dataset)
    told = "not the data that the run was trained on: scored without the run's masks"
    typer.echo(told, err=as_json)
    return dataset


def _presence(clips: Any, model: Any) -> str:
    """How many clips have each modality that may be missing."""
    uncertain = [name for name in model.reads if name not in model.needs]
    return ", ".join(f"{clips.has_any([name]).sum()} with {name}" for name in uncertain)
