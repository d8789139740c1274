"""`mmalign train`: one run, resumable."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mmalign.cli.options import Data, Device, Label, NonFinite, Threads, Vectors

FLAGS = (
    "visible",
    "victim",
    "out",
    "survival",
    "setting",
    "non-finite",
    "label",
    "vectors",
    "device",
)
"""What `train` takes on the command line only; the rest of a run is settings."""


def train(
    data: Data,
    visible: Annotated[str, typer.Option(help="Modality that is always there.")],
    victim: Annotated[str, typer.Option(help="Modality that may be missing.")],
    out: Annotated[Path, typer.Option(help="Run directory to create, or to resume.")],
    survival: Annotated[float, typer.Option(help="Share of clips that keep the victim.")] = 0.1,
    setting: Annotated[
        str, typer.Option(help="A: victim missing in all of valid and test; B: as in train.")
    ] = "A",
    method: Annotated[str | None, typer.Option(help="Who imputes. Default: mmalign.")] = None,
    seed: Annotated[int | None, typer.Option(help="Weights, order, dropout and masks.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file of settings.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting, e.g. --set window=4.")
    ] = None,
    improved: Annotated[
        bool, typer.Option("--improved", help="Both passes and step contrast, on top of the paper.")
    ] = False,
    non_finite: NonFinite = "reject",
    label: Label = None,
    vectors: Vectors = None,
    device: Device = "auto",
    threads: Threads = 1,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write events into OUT/tensorboard.")
    ] = False,
) -> None:
    """Train one model; killed, the same command goes on where it stopped."""
    import torch

    from mmalign.cli.live import LiveLine
    from mmalign.data import Protocol, load_dataset
    from mmalign.predictor.device import choose_device
    from mmalign.runs.run import Run
    from mmalign.training.config import IMPROVED
    from mmalign.training.distributed import join_world
    from mmalign.training.methods import configure

    chosen: dict[str, Any] = dict(IMPROVED) if improved else {}
    chosen |= read_settings(config, flags=FLAGS) if config is not None else {}
    chosen |= parse_settings(settings or [])
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


def read_settings(file: Path, *, flags: Sequence[str]) -> dict[str, Any]:
    """The settings in a TOML file, but for what the command takes as flags only.

    Raises:
        ConfigError: If the file cannot be read, or holds a flag.
    """
    from mmalign.errors import ConfigError
    from mmalign.training.config import read_config

    content = read_config(file)
    wrong = [name for name in content if name.replace("_", "-") in flags]
    if wrong:
        raise ConfigError(
            [
                f"{file}: {name} is a flag, not a setting; give --{name.replace('_', '-')}"
                for name in wrong
            ]
        )
    return content


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Settings from `name=value` texts, values in TOML's spelling (a bare word is text).

    Raises:
        ConfigError: If a text has no equals sign.
    """
    import tomllib

    from mmalign.errors import ConfigError

    parsed = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not sign:
            raise ConfigError(f"--set {pair!r} is not of the form name=value")
        try:
            parsed[name.strip()] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            parsed[name.strip()] = text
    return parsed


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
    """Opens OUT/tensorboard when called; whether it can is told at once."""
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
