"""`mmalign evaluate`, `predict` and `explain`: a trained run on data."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mmalign.cli import options
from mmalign.progress import track

Without = Annotated[str | None, typer.Option(help="Take this modality away from every clip first.")]


def evaluate(
    run: options.RunPath,
    data: options.Data,
    split: Annotated[str, typer.Option(help="Which split to score.")] = "test",
    without: Without = None,
    as_is: Annotated[
        bool, typer.Option("--as-is", help="Do not take away what the run's masks took away.")
    ] = False,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
    device: options.Device = "auto",
    threads: options.Threads = 1,
) -> None:
    """Score a run on labelled data beside the floor; its own data is scored under its masks.

    Other data, even of the same ids, is scored as it is.
    """
    from mmalign.cli.tables import print_scores
    from mmalign.data import load_dataset
    from mmalign.evaluation.floors import constant_floor
    from mmalign.runs.manifest import is_trained_on

    model = _load(run, device, threads)
    dataset = load_dataset(data, non_finite=non_finite, label=label, vectors=vectors)
    clips = _without(dataset[split], without, model)
    masked = () if as_is else _masked_ids(run, split, model)
    # Ids alone may be numbers that any file has.
    if masked and is_trained_on(Path(run), dataset, [model.visible, model.victim]):
        clips = clips.without(model.victim, masked)
        typer.echo("under the run's masks; --as-is leaves them out")
    elif masked:
        typer.echo("not the data the run was trained on: scored as it is, without the run's masks")
    present = int(clips.is_present(model.victim).sum()) if model.victim in clips.sequences else 0
    scores = {"run": model.score(clips)}
    typer.echo(f"{len(clips)} clips of {split}, {present} with {model.victim}")
    train = dataset.splits.get("train")
    if train is not None and train.labels is not None and clips.labels is not None:
        scores["floor"] = constant_floor(dataset.task, train.labels, clips.labels)
    print_scores(scores)


def predict(
    run: options.RunPath,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="File to write: .parquet, .csv or .jsonl.")] = Path(
        "predictions.parquet"
    ),
    without: Without = None,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
    device: options.Device = "auto",
    threads: options.Threads = 1,
) -> None:
    """Predict on every clip of a dataset, whether the victim is there or not."""
    from mmalign.cli.writing import check_ending, write_table
    from mmalign.data import load_dataset
    from mmalign.predictor.predictor import prediction_table

    check_ending(out)
    model = _load(run, device, threads)
    dataset = load_dataset(data, non_finite=non_finite, label=label, vectors=vectors)
    splits, present = {}, {}
    for name in dataset.splits:
        clips = _without(dataset[name], without, model)
        splits[name] = model.prepared(clips)
        has_victim = model.victim in clips.sequences
        present[name] = clips.is_present(model.victim if has_victim else model.visible) & has_victim
    table = prediction_table(model.fitted, splits, present=present)
    write_table(table, out)
    typer.echo(f"{len(table)} predictions: {out}")


def explain(
    run: options.RunPath,
    data: options.Data,
    clip: Annotated[str, typer.Option(help="Id of the clip.")],
    out: Annotated[Path, typer.Option(help="Picture to write.")] = Path("plan.png"),
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
    device: options.Device = "auto",
) -> None:
    """Draw how a clip's modalities line up: the solver's plan and the predicted one."""
    from mmalign.data import load_dataset
    from mmalign.errors import DataError
    from mmalign.experiments.pictures import check_picture, draw_plans

    check_picture(out)
    model = _load(run, device, threads=1)
    dataset = load_dataset(data, non_finite=non_finite, label=label, vectors=vectors)
    for name in dataset.splits:
        split = dataset[name]
        if clip in split.ids:
            found = split.select([split.ids.index(clip)])
            break
    else:
        known = next(iter(dataset.splits.values())).ids[:3]
        raise DataError(f"there is no clip {clip!r}", fix=f"Ids look like {', '.join(known)}.")
    found = model.prepared(found)
    plans = {}
    if found.is_present(model.victim)[0]:
        plans["solver's plan"] = model.align(found)[0]
    plans["predicted plan"] = model.align(found.without(model.victim, [clip]))[0]
    out.parent.mkdir(parents=True, exist_ok=True)
    draw_plans(plans, found[0], out, visible=model.visible, victim=model.victim)
    typer.echo(f"picture: {out}")


def _load(run: str, device: str, threads: int) -> Any:
    """The run's model on a device, with a bar while it predicts."""
    import torch

    import mmalign

    torch.set_num_threads(threads)
    model = mmalign.load(run, device=device)
    model.watch_with(lambda batches, total: track(batches, "predicting", total=total))
    return model


def _masked_ids(run: str, split: str, model: Any) -> Sequence[str]:
    """Ids of the split that lost their victim when the run was trained."""
    from mmalign.runs.manifest import load_masks
    from mmalign.training.methods import find_method

    masks = load_masks(Path(run))
    if masks is None or not find_method(model.config.method).is_masked:
        return ()
    return masks.missing.get(split, ())


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
