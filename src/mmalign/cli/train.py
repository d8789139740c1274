"""`mmalign train`: one run, resumable."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from mmalign.cli import options


def train(
    data: options.Data,
    visible: options.Visible,
    victim: options.Victim,
    out: Annotated[Path, typer.Option(help="Run directory to create, or to resume.")],
    survival: options.Survival = 0.1,
    setting: options.Setting = "A",
    method: options.Method = None,
    seed: Annotated[int | None, typer.Option(help="Weights, order, dropout and masks.")] = None,
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    improved: Annotated[
        bool, typer.Option("--improved", help="Both passes and step contrast, on top of the paper.")
    ] = False,
    non_finite: options.NonFinite = "reject",
    label: options.Label = None,
    vectors: options.Vectors = None,
    device: options.Device = "auto",
    threads: options.Threads = 1,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write events into OUT/tensorboard.")
    ] = False,
) -> None:
    """Train one model. Start the same command again to continue a run that was stopped."""
    import torch

    from mmalign.cli.live import LiveLine
    from mmalign.data import Protocol, load_dataset
    from mmalign.predictor.device import choose_device
    from mmalign.runs.run import Run
    from mmalign.training.config import IMPROVED
    from mmalign.training.distributed import join_world
    from mmalign.training.methods import configure

    chosen: dict[str, Any] = dict(IMPROVED) if improved else {}
    chosen |= options.choose_settings(train, config, settings)
    chosen |= {k: v for k, v in (("method", method), ("seed", seed)) if v is not None}
    training_config = configure(chosen)
    protocol = Protocol(
        visible=visible,
        victim=victim,
        survival=survival,
        setting=setting,
        seed=training_config.seed,
    )
    torch.set_num_threads(threads)
    place = choose_device(device)
    dataset = load_dataset(data, non_finite=non_finite, label=label, vectors=vectors)
    _check_splits(dataset, data)
    events = _event_writer(out) if tensorboard else None
    with join_world(place) as world, LiveLine(is_on=world.is_leader, events=events) as live:
        run = Run(
            dataset=dataset,
            protocols=(protocol,),
            config=training_config,
            out=out,
            device=place,
            world=world,
        )
        result = run.execute(live.show)
        if world.is_leader:
            _print_result(result, run.seconds(), out)


def _check_splits(dataset: Any, data: str) -> None:
    """Check that there are clips to learn from and clips to choose the best epoch on."""
    from mmalign.errors import DataError

    for name in ("train", "valid"):
        if name not in dataset.splits:
            raise DataError(
                f"there is no {name} split, only {', '.join(dataset.splits)}",
                file=data,
                fix="Say in the data which clip is in which split, or deal the clips anew: "
                'python -c "from mmalign.data import *; '
                f"write_native(split_by(load_dataset('{data}'), random_split()), 'dealt')\", "
                "and train on dealt.",
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
