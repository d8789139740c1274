"""The reader of a network: the engine that holds its weights as they are now."""

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from mmalign.align.compiled import kernels
from mmalign.data.clip import Steps
from mmalign.imputers import AlignmentDynamicsLearner, Copy, Imputer, MeanFill, ZeroFill
from mmalign.model.attention import Attention, PreNormLayer, TransformerLayer
from mmalign.model.lines import Flat
from mmalign.predictor.engine import Engine, Parts
from mmalign.predictor.model import Model
from mmalign.predictor.routes import Floor
from mmalign.predictor.scaler import Scaler
from mmalign.predictor.scaling import AS_PRINTED

COVERED = (AlignmentDynamicsLearner, ZeroFill, MeanFill, Copy)

_readers: WeakKeyDictionary[Model, tuple[list[Tensor], int, Engine | None]] = WeakKeyDictionary()


def reader_of(model: Model) -> Engine | None:
    """The reader of a model as its weights are now; None where kernels do not cover it.

    It is made again when weights were changed in place, and when the model was moved or was given
    another state. To look at all tensors would take a good part of a prediction of one clip: where
    a part of the model alone got others, only `fresh_reader_of` tells.
    """
    tensors, state, reader = _readers.get(model, ([], 0, None))
    # Moving a model, or assigning a state, gives it other buffers. `model.gate` takes torch a
    # hundredth of a prediction to find.
    if not tensors or tensors[0] is not model._buffers["gate"] or _state(tensors) != state:
        tensors = [*model.buffers(), *model.parameters()]
        reader = _engine(model) if _is_covered(model) else None
        _readers[model] = tensors, _state(tensors), reader
    return reader


def fresh_reader_of(model: Model) -> Engine | None:
    """The same made anew, whatever has happened to the model; that takes some milliseconds."""
    _readers.pop(model, None)
    return reader_of(model)


_VERSION = attrgetter("_version")


def _state(tensors: Sequence[Tensor]) -> int:
    """A number that changes with the weights: how often torch changed them, and where they are."""
    return int(sum(map(_VERSION, tensors))) ^ tensors[0].data_ptr()


def _is_covered(model: Model) -> bool:
    """Whether there are kernels for all parts of the model, where it is and of its type."""
    layers = [layer for layer in model.modules() if isinstance(layer, TransformerLayer)]
    ways = [way.imputer for _, way in model.bank.items()]
    place = model.label_mean
    return (
        place.device.type == "cpu"
        and place.dtype == torch.float32
        and all(type(layer) in (TransformerLayer, PreNormLayer) for layer in layers)
        and all(type(layer.attention) is Attention for layer in layers)
        and all(type(imputer) in COVERED for imputer in ways)
        and kernels("model.kernels.clip") is not None
    )


def _engine(model: Model) -> Engine:
    """The engine with a model's weights, which it shares where it need not pack them."""
    scalers = cast(list[Scaler], model.scalers)
    layer = cast(TransformerLayer, model.backbone.encoder(model.modalities[0]).layers[0])
    parts = Parts(
        names=model.modalities,
        directions=model.bank.directions,
        heads=layer.attention.heads,
        has_positions=model.backbone.fuse.has_positions,
        weights={name: weight.numpy() for name, weight in model.state_dict().items()},
        scalers=tuple(None if s.scaling == AS_PRINTED else partial(_scaled, s) for s in scalers),
        floors=tuple(_floor(way.imputer) for _, way in model.bank.items()),
    )
    return Engine(parts, kernels("model.kernels.clip"))


def _scaled(scaler: Scaler, steps: Steps) -> Steps:
    """Steps with differences and centred where that is wanted; gaps stay."""
    is_known = ~np.isnan(steps[:, 0])
    with torch.no_grad():
        tensors = torch.from_numpy(steps), torch.from_numpy(is_known)
        found: Steps = scaler(*tensors).numpy()
    found[~is_known] = np.nan
    return found


def _floor(imputer: Imputer) -> Floor | None:
    """What an imputer that has learned next to nothing says of the steps; None is zeros."""
    if isinstance(imputer, Copy):
        return _copied
    if isinstance(imputer, MeanFill):
        return partial(_repeated, imputer.mean.numpy())
    return None


def _copied(source: Flat, goal: int) -> Flat:
    """The source step of each moment."""
    moments = np.rint((np.arange(goal) + 0.5) * (len(source) / goal) - 0.5)
    copied: Flat = source[np.clip(moments.astype(np.int64), 0, len(source) - 1)]
    return copied


def _repeated(mean: Flat, _: Flat, goal: int) -> Flat:
    return np.broadcast_to(mean, (goal, len(mean)))
