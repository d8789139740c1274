"""`mmalign explain`: why a run predicts what it does for one clip."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from mmalign.cli import options


def explain(
    run: options.RunPath,
    data: options.Data,
    clip: Annotated[str, typer.Option(help="Id of the clip.")],
    out: Annotated[Path, typer.Option(help="Picture to write: .png, .svg or .pdf.")] = Path(
        "explanation.png"
    ),
    source: Annotated[
        str | None, typer.Option(help="Networks only: modality to align from.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Networks only: modality to align to.")] = None,
    without: options.Without = None,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
    device: options.Device = "auto",
) -> None:
    """Explain the prediction for one clip, and draw it.

    It prints the label, the prediction, and the prediction without each modality.

    The picture shows the evidence of each modality (experts) or the alignment (networks).
    """
    from mmalign.data import load_dataset
    from mmalign.data.likeness import require_modalities_of
    from mmalign.errors import ConfigError, located
    from mmalign.estimator.network import NetworkMMAlign
    from mmalign.experiments.pictures import check_picture

    check_picture(out)
    model = options.load_model(run, device, threads=1)
    dataset = load_dataset(data, non_finite=non_finite, label=label, vectors=vectors)
    with located(file=data):
        require_modalities_of(dataset, model.dims)
    found = model.prepared(options.take_away(_find(dataset, clip), without, model, clip))
    told = _told(model, found)
    if isinstance(model, NetworkMMAlign):
        direction = model.direction(source, target)
        out.parent.mkdir(parents=True, exist_ok=True)
        _explain_plans(model, found, out, direction, told)
        for line in _lines(model, found, told):
            typer.echo(line)
    elif source is not None or target is not None:
        raise ConfigError("experts do not align modalities: remove --source and --target")
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        _explain_evidence(model, found, out, told)
    typer.echo(f"picture: {out}")


def _find(dataset: Any, clip: str) -> Any:
    """The split of this clip alone."""
    from mmalign.errors import DataError

    for name in dataset.splits:
        split = dataset[name]
        if clip in split.ids:
            return split.select([split.ids.index(clip)])
    known = next(iter(dataset.splits.values())).ids[:3]
    raise DataError(f"there is no clip {clip!r}", fix=f"Ids look like {', '.join(known)}.")


def _told(model: Any, found: Any) -> str:
    """The clip's answer, its label where it is known, and what it lacks."""
    label = "" if found.labels is None else f"; its label is {_in_words(model, found.labels[0])}"
    lacking = [name for name in model.reads if not found.has_any([name])[0]]
    lacks = f"; it lacks {', '.join(lacking)}" if lacking else ""
    return f"{found.ids[0]}: {_answer(model, found)}{label}{lacks}"


def _in_words(model: Any, answer: Any) -> str:
    classes = getattr(model.task, "classes", None)
    return f"{answer:.2f}" if classes is None else str(classes[answer])


def _answer(model: Any, clip: Any) -> str:
    """What is said of one clip, and how sure that is."""
    said = _in_words(model, model.answers(clip)[0])
    is_class = hasattr(model.task, "classes")
    return f"{said} ({model.predict_proba(clip).max():.2f})" if is_class else said


def _lines(model: Any, found: Any, told: str) -> Iterator[str]:
    """The answer, and what it would be without each modality that can be missing."""
    yield told
    there = [name for name in model.reads if found.has_any([name])[0]]
    for name in there:
        if name not in model.needs and len(there) > 1:
            yield f"without {name}: {_answer(model, found.without(name, found.ids))}"


def _explain_plans(
    model: Any, found: Any, out: Path, direction: tuple[str, str], told: str
) -> None:
    from mmalign.experiments.pictures import draw_plans

    source, target = direction
    plans = {}
    if found.has_any([target])[0]:
        plans["solver's plan"] = model.align(found, source, target)[0]
    without = found.without(target, found.ids)
    plans["predicted plan"] = model.align(without, source, target)[0]
    draw_plans(plans, found[0], out, title=told, visible=source, victim=target)


def _explain_evidence(model: Any, found: Any, out: Path, told: str) -> None:
    from mmalign.experiments.pictures import draw_evidence, signed
    from mmalign.experts.explanation import explain_clip

    explanation = explain_clip(model.experts, found)
    draw_evidence(explanation, told, out)
    typer.echo(told)
    what = "evidence" if explanation.answer.share is not None else "adds"
    for share in explanation.shares:
        line = f"{' + '.join(share.modalities)}: {what} {signed(share.evidence)}"
        if len(share.modalities) == 1:
            (name,) = share.modalities
            rest = explanation.without.get(name, "nothing is left")
            line += f"; alone {explanation.alone[name]}; without it {rest}"
        typer.echo(line)
