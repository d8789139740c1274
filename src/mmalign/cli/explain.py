"""`mmalign explain`: why a run answers as it does to one clip."""

from pathlib import Path
from typing import Annotated, Any

import typer

from mmalign.cli import options


def explain(
    run: options.RunPath,
    data: options.Data,
    clip: Annotated[str, typer.Option(help="Id of the clip.")],
    out: Annotated[Path, typer.Option(help="Picture to write.")] = Path("plan.png"),
    source: Annotated[
        str | None, typer.Option(help="Of a network: the modality to align from.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="And the one to align to.")] = None,
    without: options.Without = None,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
    device: options.Device = "auto",
) -> None:
    """Draw what each modality says of a clip; for the paper's, how two modalities line up."""
    from mmalign.data import load_dataset
    from mmalign.errors import ConfigError
    from mmalign.estimator.network import NetworkMMAlign
    from mmalign.experiments.pictures import check_picture

    check_picture(out)
    model = options.load_model(run, device, threads=1)
    dataset = load_dataset(data, non_finite=non_finite, label=label, vectors=vectors)
    found = model.prepared(options.take_away(_find(dataset, clip), without, model))
    out.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(model, NetworkMMAlign):
        _explain_plans(model, found, out, model.direction(source, target))
    elif source is not None or target is not None:
        raise ConfigError("experts do not align: leave --source and --target out")
    else:
        _explain_evidence(model, found, out)
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


def _explain_plans(model: Any, found: Any, out: Path, direction: tuple[str, str]) -> None:
    from mmalign.experiments.pictures import draw_plans

    source, target = direction
    plans = {}
    if found.is_present(target)[0]:
        plans["solver's plan"] = model.align(found, source, target)[0]
    without = found.without(target, found.ids)
    plans["predicted plan"] = model.align(without, source, target)[0]
    draw_plans(plans, found[0], out, visible=source, victim=target)


def _explain_evidence(model: Any, found: Any, out: Path) -> None:
    from mmalign.experiments.pictures import draw_evidence
    from mmalign.experts.explanation import explain_clip

    explanation = explain_clip(model.experts, found)
    draw_evidence(explanation, found.ids[0], out)
    typer.echo(f"{found.ids[0]}: {explanation.answer}")
    for share in explanation.shares:
        typer.echo(f"{' + '.join(share.modalities)}: evidence {share.evidence:+.2f}")
    for name, alone in explanation.alone.items():
        rest = explanation.without.get(name, "nothing else is there")
        typer.echo(f"{name}: alone {alone}; without it {rest}")
