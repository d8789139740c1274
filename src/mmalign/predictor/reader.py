"""A trained network that only reads: the same answers in a fraction of the time.

A prediction of few steps in torch is nearly all calls from operator to operator. Here clips of one
pattern are three compiled calls, without padding; what they do not cover is left to torch.
"""

import math
from collections.abc import Callable, Collection, Sequence
from functools import partial
from operator import attrgetter
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mmalign.align.compiled import kernels
from mmalign.data.clip import Steps
from mmalign.data.intake import Clips
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.imputers import AlignmentDynamicsLearner, Copy, Imputer, MeanFill, ZeroFill
from mmalign.model.attention import Attention, PreNormLayer, TransformerLayer
from mmalign.model.packing import Flat, array_of
from mmalign.predictor.engine import Engine, Outputs, Parts
from mmalign.predictor.members import mean_outputs
from mmalign.predictor.model import Model
from mmalign.predictor.plain import Row, plain_rows
from mmalign.predictor.predictor import Predictor, check_finite
from mmalign.predictor.routes import Floor
from mmalign.predictor.scaler import Scaler
from mmalign.predictor.scaling import AS_PRINTED
from mmalign.predictor.tables import in_terms_of

COVERED = (AlignmentDynamicsLearner, ZeroFill, MeanFill, Copy)


def quick_outputs(predictor: Predictor, split: Split) -> Float[Tensor, "clips outputs"]:
    """What `predictor.outputs` gives, within 1e-5: by compiled calls where they cover the model.

    Raises:
        NonFiniteOutputError: If an output is NaN or infinite, which is no prediction.
    """
    found = _read(predictor, split)
    return predictor.outputs(split) if found is None else torch.from_numpy(found[0])


def quick_answers(predictor: Predictor, split: Split) -> Labels:
    """The same in the terms of the labels; where kernels cover the model, torch is not asked.

    Raises:
        NonFiniteOutputError: If an output is NaN or infinite, which is no prediction.
    """
    found = _read(predictor, split)
    if found is None:
        return predictor.to_labels(predictor.outputs(split))
    outputs, reader = found
    return in_terms_of(predictor.task, outputs, *reader.label_scale)


def answers_to(
    predictor: Predictor, clips: Clips, needed: Collection[str], prepare: Callable[[Clips], Split]
) -> Labels:
    """Answers to whatever was given to predict; what is plain need not become a split first.

    Args:
        predictor: What predicts.
        clips: What was given.
        needed: Modalities that no clip may lack.
        prepare: Converts, cleans and checks what is not plain.

    Raises:
        DataError: If clips are refused, or an output is not finite.
    """
    rows = plain_rows(clips, predictor.features(), needed)
    found = None if rows is None else _of_members(predictor, rows)
    if found is None or not all(map(_is_finite, found[0])):
        return quick_answers(predictor, prepare(clips))
    outputs, reader = _together(*found)
    return in_terms_of(predictor.task, outputs, *reader.label_scale)


def _read(predictor: Predictor, split: Split) -> tuple[Outputs, Engine] | None:
    """Finite outputs, and a reader they come from; None where there is none for these clips."""
    columns = [split.sequences[name] for name in predictor.modalities]
    found = _of_members(predictor, [list(row) for row in zip(*columns, strict=True)])
    if found is None:
        return None
    for outputs in found[0]:
        if not _is_finite(outputs):
            check_finite(torch.from_numpy(outputs), split.ids)
    return _together(*found)


def _of_members(predictor: Predictor, rows: list[Row]) -> tuple[list[Outputs], Engine] | None:
    """Outputs of each member, and the reader of the first one."""
    readers = [reader for model in predictor.members if (reader := reader_of(model)) is not None]
    read = [found for reader in readers if (found := reader.outputs_of(rows)) is not None]
    return (read, readers[0]) if len(read) == len(predictor.members) else None


def _is_finite(outputs: Outputs) -> bool:
    """Whether their sum is; that of finite numbers may be too large as well."""
    return math.isfinite(outputs.sum())


def _together(read: list[Outputs], reader: Engine) -> tuple[Outputs, Engine]:
    if len(read) == 1:
        return read[0], reader
    return mean_outputs([torch.from_numpy(found) for found in read]).numpy(), reader


_readers: WeakKeyDictionary[Model, tuple[list[Tensor], int, Engine | None]] = WeakKeyDictionary()


def reader_of(model: Model) -> Engine | None:
    """The reader of a model as its weights are now; None where kernels do not cover it.

    It is made again when weights were changed in place, or moved.
    """
    tensors, state, reader = _readers.get(model, ([], 0, None))
    if not tensors or _state(tensors) != state:
        tensors = [*model.buffers(), *model.parameters()]
        reader = _engine(model) if _is_covered(model) else None
        _readers[model] = tensors, _state(tensors), reader
    return reader


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
        return partial(_repeated, array_of(imputer.mean))
    return None


def _copied(source: Flat, goal: int) -> Flat:
    """The source step of each moment."""
    moments = np.rint((np.arange(goal) + 0.5) * (len(source) / goal) - 0.5)
    copied: Flat = source[np.clip(moments.astype(np.int64), 0, len(source) - 1)]
    return copied


def _repeated(mean: Flat, _: Flat, goal: int) -> Flat:
    return np.broadcast_to(mean, (goal, len(mean)))
