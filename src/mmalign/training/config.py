"""Everything that decides a training run, but for data and protocol."""

import math
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mmalign.errors import ConfigError, suggestion
from mmalign.files import read_regular
from mmalign.model.config import BackboneConfig, wrong_choices

CHOICES = {
    "scale": ("own", "common", "auto"),
    "schedule": ("constant", "cosine"),
    "keep": ("best", "last"),
}


@dataclass(frozen=True, kw_only=True)
class Config(BackboneConfig):
    """Method, size of the model, alignment and training (paper: "Hyperparameter Search").

    The defaults are the paper's method as printed, with positions at the fusion. Every problem is
    reported at once.

    Attributes:
        method: Who imputes; `mmalign methods` lists them.
        window: Radius of the alignment band (the paper's W).
        epsilon: Entropic regularisation of the solver (the paper's mu).
        epochs: Most epochs of training, the warm-up included.
        warm_up: How many of them come first, on the complete split alone; the last is never one.
        patience: Epochs without a better validation score before training stops.
        batch_size: Clips a batch.
        learning_rate: Step size for the backbone (eta_main).
        fit_learning_rate: Step size for the imputer (eta_fit).
        weight_decay: Decoupled weight decay of both optimisers.
        clip_norm: Gradients are scaled down to this norm.
        contrastive_weight: Weight of the contrastive loss between head embeddings (lambda).
        temperature: Temperature of the contrastive losses (tau).
        fit: Whether the imputer is fitted; off is the paper's ablation "w/o L_fit".
        separated: Whether imputer and backbone are tuned in two loops ("w/o SI").
        both_passes: Whether complete clips are also trained with their victim imputed (E18).
        step_contrast_weight: Weight of the contrastive loss between steps inside the window (E18).
        gate: Whether clips that have their victim mix the prediction with it and without it, at a
            weight chosen on validation clips.
        centre: Modalities whose clips lose their own means: `none`, `auto` (where neighbouring
            steps are alike), or names with commas between them.
        scale: `own` for each feature, `common` for a modality, or `auto`: common unless units
            differ.
        differences: Modalities that get first differences beside their features; as `centre`.
        schedule: `constant` step sizes, or `cosine`: up in a line over a tenth of the training,
            then down to 0.
        average: How slowly averaged weights follow the trained ones, such as 0.98; they are what
            validates and predicts. 0 averages nothing.
        keep: The epoch that validates `best`, or the `last` one, for which patience does not count.
        members: Networks with different initial weights and orders of batches, whose answers are
            averaged: probabilities of classes, or values. The mean is what validates.
        seed: Initial weights, order of batches, dropout.
    """

    method: str = "mmalign"
    window: int = 8
    epsilon: float = 0.1
    epochs: int = 41
    warm_up: int = 1
    patience: int = 10
    batch_size: int = 32
    learning_rate: float = 1e-3
    fit_learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    clip_norm: float = 1.0
    contrastive_weight: float = 0.1
    temperature: float = 0.1
    fit: bool = True
    separated: bool = False
    both_passes: bool = False
    step_contrast_weight: float = 0.0
    gate: bool = False
    centre: str = "none"
    scale: str = "own"
    differences: str = "none"
    schedule: str = "constant"
    average: float = 0.0
    keep: str = "best"
    members: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        problems = []
        try:
            super().__post_init__()
        except ConfigError as error:
            problems += error.problems
        for name in ("window", "epochs", "patience", "batch_size", "members"):
            if getattr(self, name) < 1:
                problems.append(f"{name} must be >= 1, got {getattr(self, name)}")
        for name in ("epsilon", "learning_rate", "fit_learning_rate", "clip_norm", "temperature"):
            if not 0 < getattr(self, name) < math.inf:
                problems.append(f"{name} must be > 0 and finite, got {getattr(self, name)}")
        for name in (
            "warm_up",
            "weight_decay",
            "contrastive_weight",
            "step_contrast_weight",
            "seed",
        ):
            if not 0 <= getattr(self, name) < math.inf:
                problems.append(f"{name} must be >= 0 and finite, got {getattr(self, name)}")
        if not 0 <= self.average < 1:
            problems.append(f"average must be in [0, 1), got {self.average}; try 0.98")
        problems += wrong_choices(self, CHOICES)
        if self.seed >= 2**32:
            problems.append(f"seed must be below 2**32, got {self.seed}")
        if problems:
            raise ConfigError(problems)

    @property
    def warm_up_epochs(self) -> int:
        """The first epochs, on the complete split alone; at least one epoch comes after them."""
        return min(self.warm_up, self.epochs - 1)


IMPROVED = {"both_passes": True, "step_contrast_weight": 1.0}
"""What prototypes found to matter, on top of the paper's method (design E18)."""

STRONG = {
    "centre": "auto",
    "scale": "auto",
    "differences": "auto",
    "norm": "pre",
    "pool": "cls+mean+max",
    "schedule": "cosine",
    "average": 0.98,
    "keep": "last",
}
"""Inputs, layers and recipe that make every row of the paper's table a strong predictor."""


def config_from(settings: dict[str, Any]) -> Config:
    """A config from plain settings, e.g. of a file or the command line.

    Raises:
        ConfigError: If a key is unknown (with a suggestion), has the wrong type or makes no sense.
    """
    types = {field.name: field.type for field in fields(Config)}
    problems: list[str] = []
    values: dict[str, Any] = {}
    for name, given in settings.items():
        value = given.item() if hasattr(given, "item") else given  # numpy's scalars are welcome
        if name not in types:
            problems.append(f"unknown setting {name!r}; {suggestion(name, types)}")
        elif types[name] is float and isinstance(value, int) and not isinstance(value, bool):
            values[name] = float(value)
        elif type(value) is not types[name]:
            wanted = getattr(types[name], "__name__", types[name])
            problems.append(f"{name} must be of type {wanted}, got {value!r}")
        else:
            values[name] = value
    if problems:
        raise ConfigError(problems)
    return Config(**values)


def read_config(file: Path) -> dict[str, Any]:
    """The settings in a TOML file.

    Raises:
        ConfigError: If it cannot be read.
    """
    try:
        return tomllib.loads(read_regular(file).decode("utf-8"))
    except (OSError, UnicodeDecodeError, RecursionError, tomllib.TOMLDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise ConfigError(f"{file}: {reason}") from error


def config_to_json(config: Config) -> dict[str, Any]:
    """The config as plain settings."""
    return asdict(config)
