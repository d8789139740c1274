"""`mmalign evaluate`, `predict` and `explain`: a trained run on data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mmalign.cli.options import Data, NonFinite, RunPath, Threads

Without = Annotated[str | None, typer.Option(help="Take this modality away from every clip first.")]


def evaluate(
    run: RunPath,
    data: Data,
    split: Annotated[str, typer.Option(help="Which split to score.")] = "test",
    without: Without = None,
    non_finite: NonFinite = "reject",
    threads: Threads = 1,
) -> None:
    """Score a run on labelled data, beside the floor; clips may lack the victim."""
    from mmalign.cli.tables import print_scores
    from mmalign.errors import DataError
    from mmalign.evaluation.floors import constant_floor

    model, dataset = _open(run, data, non_finite, threads)
    clips = _without(dataset[split], without, model)
    if clips.labels is None:
        raise DataError("there are no labels to score against", split=split, fix="Use predict.")
    present = int(clips.is_present(model.victim).sum())
    typer.echo(f"{len(clips)} clips of {split}, {present} with {model.victim}")
    scores = {"run": model.score(clips)}
    train = dataset.splits.get("train")
    if train is not None and train.labels is not None:
        scores["floor"] = constant_floor(dataset.task, train.labels, clips.labels)
    print_scores(scores)


def predict(
    run: RunPath,
    data: Data,
    out: Annotated[Path, typer.Option(help="File to write: .parquet, .csv or .jsonl.")] = Path(
        "predictions.parquet"
    ),
    without: Without = None,
    non_finite: NonFinite = "reject",
    threads: Threads = 1,
) -> None:
    """Predict on every clip of a dataset, whether the victim is there or not."""
    from mmalign.cli.writing import write_table
    from mmalign.training.prediction import prediction_table

    model, dataset = _open(run, data, non_finite, threads)
    columns: dict[str, list[Any]] = {}
    for name in dataset.splits:
        clips = model.prepared(_without(dataset[name], without, model))
        table = {"split": [name] * len(clips), **prediction_table(model.fitted, clips)}
        for key, values in table.items():
            columns.setdefault(key, []).extend(values)
    write_table(columns, out)
    typer.echo(f"{len(columns['id'])} predictions: {out}")


def explain(
    run: RunPath,
    data: Data,
    clip: Annotated[str, typer.Option(help="Id of the clip.")],
    out: Annotated[Path, typer.Option(help="Picture to write.")] = Path("plan.png"),
    non_finite: NonFinite = "reject",
) -> None:
    """Draw how a clip's modalities line up: the solver's plan and the predicted one."""
    from mmalign.errors import DataError
    from mmalign.experiments.pictures import draw_plans

    model, dataset = _open(run, data, non_finite, 1)
    for name in dataset.splits:
        split = dataset[name]
        if clip in split.ids:
            found = split.select([split.ids.index(clip)])
            break
    else:
        known = next(iter(dataset.splits.values())).ids[:3]
        raise DataError(f"there is no clip {clip!r}", fix=f"Ids look like {', '.join(known)}.")
    plans = {}
    if found.is_present(model.victim)[0]:
        plans["solver's plan"] = model.align(found)[0]
    plans["predicted plan"] = model.align(found.without(model.victim, [clip]))[0]
    out.parent.mkdir(parents=True, exist_ok=True)
    draw_plans(plans, found[0], out, visible=model.visible, victim=model.victim)
    typer.echo(f"picture: {out}")


def _open(run: str, data: str, non_finite: Any, threads: int) -> tuple[Any, Any]:
    import torch

    import mmalign

    torch.set_num_threads(threads)
    model = mmalign.load(run)
    dataset = mmalign.load_dataset(data, non_finite=non_finite)
    return model, dataset


def _without(split: Any, modality: str | None, model: Any) -> Any:
    """The clips without a modality; refused for the one that the model cannot do without."""
    from mmalign.errors import DataError

    if modality is None:
        return split
    if modality == model.visible:
        raise DataError(
            "the run cannot do without its visible modality",
            modality=modality,
            fix=f"It was trained for clips that may lack {model.victim}.",
        )
    if modality not in split.sequences:
        raise DataError(
            f"there is no modality {modality!r}", fix=f"There are {', '.join(split.sequences)}."
        )
    return split.without(modality, split.ids)
