"""`mmalign train`: one run, resumable."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from mmalign.cli import options
from mmalign.cli.kernels import compile_once
from mmalign.cli.stopping import say_stopped


def train(
    data: options.Data,
    out: Annotated[Path, typer.Option(help="Run directory to create or resume.")],
    modalities: Annotated[
        list[str] | None, typer.Option(help="Modalities to use: a,b,…  Default: all.")
    ] = None,
    visible: Annotated[
        str | None, typer.Option(help="Paper's protocol: modality that every clip has.")
    ] = None,
    victim: Annotated[
        str | None, typer.Option(help="Paper's protocol: modality that may be missing.")
    ] = None,
    survival: Annotated[
        str | None,
        typer.Option(
            help="Share of clips that keep each modality (a=0.9,b=0.5) or the victim (0.1)."
        ),
    ] = None,
    setting: Annotated[
        str | None,
        typer.Option(
            help="A: valid and test lack the victim; B: they lack it as often as train. Default: A"
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="experts (default), or an imputer: mmalign (default for a pair), …"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of weights, batch order, dropout and masks. Default: 0")
    ] = None,
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    improved: Annotated[
        bool,
        typer.Option("--improved", help="Add both passes and step contrast to the paper's method."),
    ] = False,
    strong: options.Strong = False,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
    device: options.Device = "auto",
    threads: options.Threads = 1,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write TensorBoard events to OUT/tensorboard.")
    ] = False,
) -> None:
    """Train one model on all modalities, or the paper's method on a pair.

    Run the same command again to resume an interrupted run.
    """
    import torch

    from mmalign.cli.live import LiveLine, ModalityLine
    from mmalign.cli.trainees import Asked
    from mmalign.data import load_dataset
    from mmalign.runs.claim import FinishedFolderError
    from mmalign.runs.run import Run
    from mmalign.training.config import IMPROVED, STRONG
    from mmalign.training.distributed import join_world

    chosen: dict[str, Any] = dict(IMPROVED) if improved else {}
    chosen |= STRONG if strong else {}
    chosen |= options.choose_settings(train, config, settings)
    chosen |= {k: v for k, v in (("method", method), ("seed", seed)) if v is not None}
    asked = Asked(
        visible=visible,
        victim=victim,
        modalities=",".join(modalities) if modalities else None,
        survival=survival,
        setting=setting,
        settings=chosen,
        device=device,
    )
    make = asked.trainee()
    torch.set_num_threads(threads)
    place = asked.place()
    dataset = load_dataset(data, non_finite=non_finite, label=label, vectors=vectors)
    _check_splits(dataset, data, ("train",) if asked.is_of_experts else ("train", "valid"))
    if modalities:
        dataset = _only(dataset, options.names_in(modalities))
    asked.check_pair(dataset)
    compile_once(*(("experts",) if asked.is_of_experts else ("network", "alignment")))
    events = _event_writer(out) if tensorboard else None
    line = ModalityLine if asked.is_of_experts else LiveLine
    with join_world(place) as world, line(is_on=world.is_leader, events=events) as live:
        run = Run(make(dataset, place, world), out)
        try:
            result = run.execute(live.show, lambda saved: _say_resuming(live, saved, out))
        except FinishedFolderError:
            result = run.result()
            live.say(f"already done: {out} is a finished run")
        except KeyboardInterrupt as stop:
            live.stop()
            raise say_stopped(stop, run.progress(), out) from None
        live.stop()
        if world.is_leader:
            show = _print_subsets if "subsets" in result else _print_result
            show(result, run.seconds(), out)


def _say_resuming(live: Any, saved: str, out: Path) -> None:
    if live.is_on:
        live.say(f"resuming {out} after {saved}")


def _only(dataset: Any, names: list[str]) -> Any:
    """The dataset with some modalities, and the clips that have one of them."""
    from dataclasses import replace

    chosen = dataset.only(names)
    splits = {name: options.having_any(split, names, name) for name, split in chosen.splits.items()}
    return replace(chosen, splits=splits)


def _check_splits(dataset: Any, data: str, needed: tuple[str, ...]) -> None:
    """Check that there are clips to learn from, and clips to choose the best epoch on."""
    from mmalign.errors import DataError

    by = "group" if all(split.groups for split in dataset.splits.values()) else "clip"
    for name in needed:
        if name not in dataset.splits:
            raise DataError(
                f"there is no {name} split, only {', '.join(dataset.splits)}",
                file=data,
                fix="Add a column 'split' to the data, or let mmalign split it: "
                f"mmalign data split {shlex.quote(data)} dealt --by {by}; then train on dealt.",
            )


def _event_writer(out: Path) -> Callable[[], Any]:
    """Return what opens OUT/tensorboard; a missing package is told at once."""
    from mmalign.errors import ConfigError

    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ConfigError(
            "--tensorboard needs a package: pip install 'mmalign[tensorboard]'"
        ) from error
    return lambda: SummaryWriter(out / "tensorboard")


def _print_result(result: dict[str, Any], seconds: float, out: Path) -> None:
    from mmalign.cli.tables import print_scores

    for found in result["settings"].values():
        epochs = f"best epoch {found['best_epoch']} of {result['epochs']}"
        typer.echo(f"{epochs}, {seconds:.0f} s; run directory {out}")
        print_scores(
            {f"{result['method']}, {split}": scores for split, scores in found["metrics"].items()}
            | {f"floor, {split}": scores for split, scores in result["floor"].items()}
        )


def _print_subsets(result: dict[str, Any], seconds: float, out: Path) -> None:
    """Print what the model scores with each subset alone, on test clips or else on valid ones."""
    from mmalign.cli.tables import print_scores

    typer.echo(f"{result['method']}, {seconds:.0f} s; run directory {out}")
    split = "test" if "test" in result["floor"] else "valid"
    scored = [found for found in result["subsets"] if split in found]
    if not scored:
        return
    rows = {" + ".join(found["modalities"]): found[split]["metrics"] for found in scored}
    typer.echo(f"{split} clips, with these modalities alone:")
    print_scores(rows | {"floor": result["floor"][split]})
