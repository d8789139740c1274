"""Options that several commands share, and what they are turned into."""

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from mmalign.errors import ConfigError, DataError, counted, no_modality
from mmalign.progress import track

if TYPE_CHECKING:
    from mmalign.data.split import Split
    from mmalign.estimator import MMAlign
    from mmalign.estimator.reading import SavedNetwork
    from mmalign.experiments.engines.contract import Engine
    from mmalign.experiments.source import Source

Data = Annotated[
    str, typer.Argument(help="Path of a dataset in any supported format, or a built-in name.")
]
RunPath = Annotated[str, typer.Argument(help="Run directory written by mmalign train.")]
NonFinite = Annotated[
    Literal["reject", "zero", "clip", "gap"],
    typer.Option(help="How to treat NaN and infinity; gap: count such steps as missing."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Label = Annotated[str | None, typer.Option(help="Label to use if there are several.")]
Vectors = Annotated[
    Path | None, typer.Option(help="Word vectors, for files that store only words.")
]

Visible = Annotated[str | None, typer.Option(help="Modality that every clip has.")]
Victim = Annotated[str | None, typer.Option(help="Modality that may be missing.")]
Survival = Annotated[float, typer.Option(help="Share of clips that keep the victim.")]
Method = Annotated[str | None, typer.Option(help="Imputer, see mmalign methods. Default: mmalign.")]
ConfigFile = Annotated[Path | None, typer.Option(help="TOML file with settings.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="One setting, e.g. --set window=4; may be repeated."),
]
Strong = Annotated[
    bool,
    typer.Option("--strong", help="Use better inputs, layers and recipe than the paper."),
]
Seeds = Annotated[str, typer.Option(help="Number of seeds (5), or the seeds (0-4, or 0,3,7).")]

EngineName = Annotated[
    Literal["local", "ray"], typer.Option(help="Use processes on this machine, or a Ray cluster.")
]
Jobs = Annotated[
    int | None, typer.Option(help="Runs at a time. Default: one (tune), one per core (bench).")
]
Address = Annotated[
    str | None, typer.Option(help="Ray cluster, host:port. Default: start one on this machine.")
]
Device = Annotated[str, typer.Option(help="Device for torch: auto, cpu, cuda, …")]
Threads = Annotated[
    int, typer.Option(min=1, help="Number of threads; 1 is fastest for small models.")
]
Without = Annotated[
    list[str] | None, typer.Option(help="Modalities to remove from every clip first: a,b,…")
]


def make_source(data: str, *, non_finite: str, label: str | None, vectors: Path | None) -> "Source":
    """Say where the data is, also for workers that have another working directory."""
    from mmalign.experiments.source import Source, absolute

    return Source(
        absolute(data), non_finite, label, None if vectors is None else absolute(str(vectors))
    )


def make_engine(name: str, jobs: int | None, address: str | None) -> "Engine":
    """The engine of that name.

    Raises:
        ConfigError: If there are no jobs, or an address without Ray, or Ray is not installed.
    """
    if jobs is not None and jobs < 1:
        raise ConfigError(f"jobs must be >= 1, got {jobs}")
    if name == "ray":
        from mmalign.experiments.engines.ray import RayEngine

        return RayEngine(jobs, address)
    if address is not None:
        raise ConfigError("--address is the address of a Ray cluster: add --engine ray")
    from mmalign.experiments.engines.local import LocalEngine

    return LocalEngine(jobs)


def choose_settings(
    command: Callable[..., None], config: Path | None, pairs: list[str] | None
) -> dict[str, Any]:
    """The settings in a TOML file, then those of `--set`, which win.

    Raises:
        ConfigError: If the file cannot be read or holds an option of the command, or a pair has no
            equals sign.
    """
    from mmalign.training.config import read_config

    chosen = {} if config is None else read_config(config)
    flags = _flags(command)
    spelled = {name: flags.get(name.replace("-", "_")) for name in chosen}
    wrong = [
        f"{config}: {name} is a flag, not a setting; give {flag}"
        for name, flag in spelled.items()
        if flag is not None
    ]
    if wrong:
        raise ConfigError(wrong)
    return _merged(chosen, parse_settings(pairs or []))


def _merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """All settings of both, those of the second where both have one."""
    both = {
        name: _merged(first[name], value)
        for name, value in second.items()
        if isinstance(value, dict) and isinstance(first.get(name), dict)
    }
    return {**first, **second, **both}


def _flags(command: Callable[..., None]) -> dict[str, str]:
    """How a command's options that are no settings are spelled, by parameter."""
    from mmalign.training.config import Config

    flags = {}
    for name, parameter in inspect.signature(command).parameters.items():
        option = next(iter(get_args(parameter.annotation)[1:]), None)  # none for Typer's context
        if isinstance(option, typer.models.OptionInfo) and not hasattr(Config, name):
            # Typer keeps the first spelling that is declared where others keep a default.
            is_declared = isinstance(option.default, str)
            flags[name] = str(option.default) if is_declared else f"--{name.replace('_', '-')}"
    return flags


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Settings from `name=value` texts, values in TOML's spelling (a bare word is text).

    A dot in a name leads into a table: `senses.wrist.centre=true`.

    Raises:
        ConfigError: If a text has no equals sign.
    """
    import tomllib

    parsed: dict[str, Any] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not sign:
            raise ConfigError(f"--set {pair!r}: write it as name=value")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text
        for part in reversed(name.strip().split(".")):
            value = {part: value}
        parsed = _merged(parsed, value)
    return parsed


def load_model(run: str, device: str, threads: int) -> "MMAlign":
    """The run's model on a device, with a bar while it predicts."""
    import mmalign

    model = mmalign.load(run, device=device)
    torch = sys.modules.get("torch")
    if torch is not None:  # experts predict without it
        torch.set_num_threads(threads)
    model.watch_with(_with_bar)
    return model


def load_predictor(run: str, device: str, threads: int) -> "MMAlign | SavedNetwork":
    """What predicts of a run: its network without torch where that can be, else its model."""
    from mmalign.estimator.reading import saved_network

    found = None
    if device in ("auto", "cpu"):
        found = saved_network(run, lambda: load_model(run, device, threads))
    if found is None:
        return load_model(run, device, threads)
    found.watch_with(_with_bar)
    return found


def _with_bar(groups: Iterator[Any], total: int) -> Iterator[Any]:
    return track(groups, "predicting", total=total)


def having_any(split: "Split", modalities: Sequence[str], name: str) -> "Split":
    """The clips that have at least one of the modalities; a note counts those left out."""
    import numpy as np

    has_any = split.has_any(modalities)
    left_out = len(split) - int(has_any.sum())
    if left_out in (0, len(split)):  # where no clip has any, the model says what is wrong
        return split
    clips = f"{counted(left_out, 'clip')} of {name}"
    typer.echo(f"note: leaving out {clips} with none of {', '.join(modalities)}", err=True)
    return split.select(np.flatnonzero(has_any))


def take_away(
    split: "Split", without: list[str] | None, model: "MMAlign | SavedNetwork", name: str
) -> "Split":
    """The clips without some modalities; refused for one that the model cannot do without.

    Clips that are left with nothing the model reads are left out, and counted in a note.

    Raises:
        DataError: If the model or the clips have no such modality, or the model needs it.
    """
    for modality in names_in(without):
        if modality in model.needs:
            others = ", ".join(name for name in model.reads if name not in model.needs)
            raise DataError(
                "the run needs its visible modality",
                modality=modality,
                fix=f"It was trained for clips that may lack {others}.",
            )
        if modality not in {*split.sequences, *model.reads}:
            raise no_modality(modality, split.sequences, "There are")
        if modality not in model.reads:
            raise DataError(
                f"the run does not use {modality!r}",
                fix=f"It uses {', '.join(model.reads)}.",
            )
        if modality in split.sequences:
            split = split.without(modality, split.ids)
    if without and not split.has_any(model.reads).any():
        raise DataError(
            "--without leaves none of the run's modalities",
            fix=f"It uses {', '.join(model.reads)}; leave one.",
        )
    return having_any(split, model.reads, name) if without else split


def names_in(texts: list[str] | None) -> list[str]:
    """Names that stand between commas, of an option that may be repeated."""
    return [name for text in texts or [] for name in split_list(text)]


def split_list(text: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_seeds(text: str) -> list[int]:
    """Seeds from `5` (the first five), `0-4` or `0,3,7`.

    Raises:
        ConfigError: If it is none of these.
    """
    if text.strip().isdecimal():
        seeds = list(range(int(text)))
    else:
        try:
            seeds = [seed for part in split_list(text) for seed in seed_range(part)]
        except ValueError as error:
            raise ConfigError(
                f"--seeds {text!r}: give a number (5), a range (0-4) or a list (0,3,7)"
            ) from error
    if not seeds:
        raise ConfigError(f"--seeds {text!r}: give at least one seed")
    return seeds


def seed_range(part: str) -> range:
    """`3` or `0-4`; anything else is a ValueError."""
    first, dash, last = part.partition("-")
    return range(int(first), int(last if dash else first) + 1)
