"""A network in a file as something that only reads: compiled calls on its arrays. No torch.

Most networks that are saved can be read like this; of others, and of a file that does not fit its
settings, nothing is said here: the whole model is, or is refused.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays

from mmalign.align.kernels.kept import Kernel
from mmalign.data.batching import Watch, unwatched
from mmalign.data.names import check_names
from mmalign.data.split import Split
from mmalign.data.task import Classification, Task, task_from_json
from mmalign.errors import MMAlignError
from mmalign.evaluation.predictions import Answers, in_terms_of
from mmalign.model.readings import readings
from mmalign.predictor.engine import Engine, Parts
from mmalign.runs.manifest import Saved
from mmalign.runs.names import Ends, described, renamed
from mmalign.training.config import Config, config_from

METHOD = "mmalign"
KERNELS = SimpleNamespace(
    **{n: Kernel("model.kernels.clip", n) for n in ("encode_all", "impute_all", "answer_all")}
)
UNFIT = (
    *(LookupError, ValueError, TypeError, AttributeError, ArithmeticError, MemoryError),
    *(RuntimeError, SafetensorError, MMAlignError),
)

MOST_STRETCHED = 1000.0
"""Target steps per source step that a clip's memory is given for."""

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Reading:
    """A network that only reads.

    Attributes:
        engine: What computes.
        task: What is predicted.
        features: Numbers a step of each modality.
        pair: Visible and victim, if it is the paper's.
    """

    engine: Engine
    task: Task
    features: dict[str, int]
    pair: Ends | None

    def answers(self, split: Split, watch: Watch = unwatched) -> Answers | None:
        """What it says of clips that were checked; None if a clip is too long or its answer odd."""
        outputs = self.engine.outputs(split, watch)
        if outputs is None or not math.isfinite(outputs.sum()):
            return None
        labels, shares = in_terms_of(self.task, outputs, *self.engine.label_scale), None
        if isinstance(self.task, Classification):
            powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
            shares = powers / powers.sum(axis=1, keepdims=True)
        return Answers(split, labels, shares)


def reading_of(saved: Saved) -> Reading | None:
    """The network that was saved; None where it takes torch to run it, or to say what is wrong."""
    try:
        return _reading(saved)
    except UNFIT:
        return None


def _reading(saved: Saved) -> Reading | None:
    settings = saved.settings
    if "kind" in settings or settings.get("scalings"):
        return None
    config, task = config_from(settings["config"]), task_from_json(settings["task"])
    if config.method != METHOD or config.members > 1 or config.attention_band:
        return None
    names, directions, starts = described(settings)
    check_names("modality", names)
    if isinstance(task, Classification):
        check_names("class", task.classes)
    dims = {name: settings["features"][name] for name in names}
    weights = {renamed(n, starts): array for n, array in load_arrays(saved.weights).items()}
    if not _fit(weights, config, dims, directions, task.outputs):
        return None
    parts = Parts(
        names=names,
        directions=tuple(directions),
        heads=config.heads,
        has_positions=config.fusion_positions,
        weights=weights,
        scalers=(None,) * len(names),
        floors=(None,) * len(directions),
    )
    pair = directions[0] if parts.is_pair else None
    return Reading(Engine(parts, KERNELS), task, dims, pair)


def _fit(
    weights: Mapping[str, Any],
    config: Config,
    dims: Mapping[str, int],
    directions: Sequence[Ends],
    outputs: int,
) -> bool:
    """Whether the arrays are exactly those of such a network: kernels trust their shapes."""
    if max(config.encoder_layers, config.fusion_layers) > len(weights):
        return False  # even to count them would take time
    expected = dict(_shapes(config, dims, directions, outputs))
    expected |= {
        name: (config.dim,)
        for name in (f"backbone.encoders.{number}.gap" for number in range(len(dims)))
        if name in weights
    }
    if expected != {name: array.shape for name, array in weights.items()}:
        return False
    ratios = {name: array for name, array in weights.items() if name.endswith("length_ratio")}
    return all(0 < float(ratio) < MOST_STRETCHED for ratio in ratios.values()) and all(
        array.dtype == np.float32 or name in ratios for name, array in weights.items()
    )


def _shapes(
    config: Config, dims: Mapping[str, int], directions: Sequence[Ends], outputs: int
) -> Iterator[tuple[str, Shape]]:
    dim, window = config.dim, 2 * config.window + 1
    for number, features in enumerate(dims.values()):
        start = f"backbone.encoders.{number}."
        yield f"{start}project.weight", (dim, features, config.kernel)
        yield from ((f"{start}{name}", (dim,)) for name in ("project.bias", "cls"))
        yield from _layers(start, config, config.encoder_layers)
        yield from ((f"scalers.{number}.{name}", (features,)) for name in ("mean", "scale"))
    for number in range(len(readings(len(dims)))):
        yield from _layers(f"backbone.fuse.readers.{number}.", config, config.fusion_layers)
    seen = len(dims) * dim * (3 if config.pool == "cls+mean+max" else 1)
    yield from _linear("backbone.head.0", seen, dim)
    yield from _linear("backbone.head.2", dim, outputs)
    for number in range(len(directions)):
        way = f"bank.ways.{number}."
        yield f"{way}length_ratio", ()
        for gru in ("forward_gru", "backward_gru"):
            for kind in ("ih", "hh"):
                yield f"{way}imputer.fitter.{gru}.weight_{kind}_l0", (3 * dim, dim)
                yield f"{way}imputer.fitter.{gru}.bias_{kind}_l0", (3 * dim,)
        yield from _linear(f"{way}imputer.fitter.project", 2 * dim, window)
    if len({target for _, target in directions}) < len(directions):
        yield "bank.preferences", (len(directions),)
    yield from ((name, ()) for name in ("gate", "label_mean", "label_scale"))


def _layers(start: str, config: Config, count: int) -> Iterator[tuple[str, Shape]]:
    dim, is_pre = config.dim, config.norm == "pre"
    for number in range(count):
        layer = f"{start}layers.{number}."
        for name, wide in (("query", dim), ("key_value", 2 * dim), ("out", dim)):
            yield from _linear(f"{layer}attention.{name}", dim, wide)
        yield from _linear(f"{layer}widen", dim, 4 * dim)
        yield from _linear(f"{layer}narrow", 4 * dim, dim)
        for norm in ("norm", "norm_wide") if is_pre else ("norm",):
            yield from _norm(f"{layer}{norm}", dim)
    if is_pre:
        yield from _norm(f"{start}norm", dim)


def _linear(name: str, inputs: int, outputs: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def _norm(name: str, dim: int) -> Iterator[tuple[str, Shape]]:
    yield f"{name}.weight", (dim,)
    yield f"{name}.bias", (dim,)
