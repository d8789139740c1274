"""A trained network that only reads: the same answers in a fraction of the time.

A prediction of few steps in torch is nearly all calls from operator to operator. Here clips of one
pattern are three compiled calls, without padding; what they do not cover is left to torch.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from operator import attrgetter
from types import ModuleType
from typing import cast
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor

from mmalign.align.compiled import kernels
from mmalign.data.clip import Steps
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.imputers import AlignmentDynamicsLearner, Copy, Imputer, MeanFill, ZeroFill
from mmalign.model.attention import Attention, PreNormLayer, TransformerLayer
from mmalign.model.fusion import CrossAttention
from mmalign.model.packing import Flat, array_of, in_vectors
from mmalign.model.positions import position_table
from mmalign.predictor.members import mean_outputs
from mmalign.predictor.model import Model
from mmalign.predictor.packing import packed_answer, packed_encoder
from mmalign.predictor.predictor import Predictor, check_finite, in_terms_of
from mmalign.predictor.scaler import Scaler
from mmalign.predictor.scaling import AS_PRINTED

LONGEST = 512
"""Longer clips are left to torch: its products of large matrices are as fast."""

Clip = list[Steps | None]
"""One sequence for each modality of the model, or none."""

Lengths = list[list[int]]
"""Clip by clip the steps of each modality."""

Outputs = Float32[np.ndarray, "clips outputs"]

COVERED = (AlignmentDynamicsLearner, ZeroFill, MeanFill, Copy)
CHUNK = 32
"""Clips whose hidden sequences are in memory at once."""

SPARE = 16
"""Rows beyond a sequence that whole tiles may touch."""


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


def _read(predictor: Predictor, split: Split) -> "tuple[Outputs, NetworkReader] | None":
    """Finite outputs, and a reader they come from; None where there is none for these clips."""
    readers = [reader for model in predictor.members if (reader := reader_of(model)) is not None]
    read = [found for reader in readers if (found := reader.outputs(split)) is not None]
    if len(read) < len(predictor.members):
        return None
    for found in read:
        if not math.isfinite(found.sum()):  # that of finite numbers may be too large as well
            check_finite(torch.from_numpy(found), split.ids)
    if len(read) == 1:
        return read[0], readers[0]
    return mean_outputs([torch.from_numpy(found) for found in read]).numpy(), readers[0]


_readers: WeakKeyDictionary[Model, tuple[list[Tensor], int, "NetworkReader | None"]] = (
    WeakKeyDictionary()
)


def reader_of(model: Model) -> "NetworkReader | None":
    """The reader of a model as its weights are now; None where kernels do not cover it.

    It is made again when weights were changed in place, or moved.
    """
    tensors, state, reader = _readers.get(model, ([], 0, None))
    if not tensors or _state(tensors) != state:
        tensors = [*model.buffers(), *model.parameters()]
        reader = NetworkReader(model) if _is_covered(model) else None
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


@dataclass(frozen=True)
class Way:
    """How a missing modality is imputed from one that is there.

    Attributes:
        source: Number of the modality that is there.
        imputer: What imputes.
        weights: Those of its fitter, packed; empty where it has none.
        window: Radius of the fitter's band.
        ratio: Target steps per source step.
        preference: What its share is a softmax of.
    """

    source: int
    imputer: Imputer
    weights: Flat
    window: int
    ratio: float
    preference: float


@dataclass(frozen=True)
class Route:
    """What is done for clips of one pattern.

    Attributes:
        there: Numbers of the modalities that are there.
        missing: Those of the others; each with the ways to impute it, and the share of each way.
    """

    there: list[int]
    missing: dict[int, list[tuple[Way, np.float32]]]


class NetworkReader:
    """Packed weights of a model, and what the kernels must know about it."""

    def __init__(self, model: Model) -> None:
        self.kernels = cast(ModuleType, kernels("model.kernels.clip"))
        self.model, self.names = model, model.modalities
        backbone, encoders = model.backbone, [model.backbone.encoder(n) for n in self.names]
        first = cast(TransformerLayer, encoders[0].layers[0])
        dim, is_pre = first.norm.normalized_shape[0], isinstance(first, PreNormLayer)
        self.dim, self.wide = dim, in_vectors(dim)
        fusion, heads = backbone.fuse, first.attention.heads
        crossed = len(cast(CrossAttention, fusion.readers[0]).layers)
        kernel = int(encoders[0].project.weight.shape[2])
        self.encoding = dim, heads, kernel, len(encoders[0].layers), is_pre
        self.answering = dim, heads, crossed, is_pre, fusion.has_positions, backbone.is_pooled
        self.scalers = [cast(Scaler, scaler) for scaler in model.scalers]
        self.is_printed = [scaler.scaling == AS_PRINTED for scaler in self.scalers]
        self.encoders = [
            packed_encoder(encoder, *_mean_and_scale(scaler))
            for encoder, scaler in zip(encoders, self.scalers, strict=True)
        ]
        self.heads_of_missing = [array_of(encoder.cls) for encoder in encoders]
        self.fusion = packed_answer(backbone)
        self.readings = np.array(fusion.readings, np.int64)
        self.ways = [self._ways(name) for name in self.names]
        self.routes: dict[tuple[bool, ...], Route] = {}
        self.gate = 1.0 if model.pair is None else float(model.gate)
        self.count = backbone.outputs
        self.label_scale = float(model.label_mean), float(model.label_scale)

    def _ways(self, target: str) -> list[Way]:
        bank, found = self.model.bank, []
        for place, ((source, goal), way) in enumerate(bank.items()):
            if goal == target:
                imputer, weights, window = way.imputer, np.empty(0, np.float32), 0
                if isinstance(imputer, AlignmentDynamicsLearner):
                    weights, window = imputer.fitter.packed(), imputer.window
                liking = 0.0 if bank.preferences is None else bank.preferences[place].item()
                ratio = float(way.length_ratio)
                place_of = self.names.index(source)
                found.append(Way(place_of, imputer, weights, window, ratio, liking))
        return found

    def outputs(self, split: Split) -> Float32[np.ndarray, "clips outputs"] | None:
        """Raw outputs of the model, one row a clip; None where a clip is too long."""
        columns = [split.sequences[name] for name in self.names]
        clips = [list(clip) for clip in zip(*columns, strict=True)]
        sizes = [[0 if steps is None else len(steps) for steps in clip] for clip in clips]
        if max(map(max, sizes), default=LONGEST + 1) > LONGEST:
            return None
        if len(clips) == 1:
            return self._answers(clips, sizes)
        found = np.empty((len(split), self.count), np.float32)
        for rows in _chunks(sizes):
            present = [sizes[row] for row in rows]
            found[rows] = self._answers([clips[row] for row in rows], present)
        return found

    def _answers(self, clips: list[Clip], present: Lengths) -> Outputs:
        """Outputs for clips of one pattern; a pair mixes two answers where its gate says so."""
        outputs = self._outputs(clips, present)
        if self.gate == 1.0 or not all(present[0]):
            return outputs
        visible: list[Clip] = [[clip[0], None] for clip in clips]
        alone = self._outputs(visible, [[lengths[0], 0] for lengths in present])
        return np.float32(self.gate) * outputs + np.float32(1 - self.gate) * alone

    def _outputs(self, clips: list[Clip], present: Lengths) -> Outputs:
        route, lengths = self._route(present[0]), present
        if route.missing:
            lengths = [self._with_guesses(clip, route) for clip in present]
        longest, counts = max(map(max, lengths)), np.array(lengths)
        table = _positions(longest.bit_length(), self.dim)
        hidden = np.zeros((*counts.shape, (longest + SPARE) * self.wide), np.float32)
        for number in route.there:
            steps = [self._scaled(number, clip[number]) for clip in clips]
            together = steps[0] if len(steps) == 1 else np.concatenate(steps)
            starts = np.array([0, *accumulate([clip[number] for clip in present])])
            given = together, starts, *self.encoding, table, self.encoders[number]
            self.kernels.encode_all(*given, hidden, number)
        for number, ways in route.missing.items():
            hidden[:, number, : self.dim] = self.heads_of_missing[number]
            for way, share in ways:
                self._stand_in(number, way, share, hidden, counts)
        outputs, sizes = np.empty((len(clips), self.count), np.float32), self.answering
        self.kernels.answer_all(hidden, counts, self.readings, *sizes, table, self.fusion, outputs)
        return outputs

    def _route(self, present: list[int]) -> Route:
        pattern = tuple(map(bool, present))
        route = self.routes.get(pattern)
        if route is None:
            missing = {}
            for number in [n for n, is_there in enumerate(pattern) if not is_there]:
                ways = [way for way in self.ways[number] if pattern[way.source]]
                shares = map(np.float32, _shares(ways))
                missing[number] = list(zip(ways, shares, strict=True))
            there = [n for n, is_there in enumerate(pattern) if is_there]
            route = self.routes[pattern] = Route(there, missing)
        return route

    def _with_guesses(self, present: list[int], route: Route) -> list[int]:
        """Lengths of what is there, and of what is taken to be missing (`ImputerBank.lengths`)."""
        full = list(present)
        for number, ways in route.missing.items():
            said = [present[way.source] * way.ratio for way, _ in ways]
            said = said or [float(present[other]) for other in route.there]
            full[number] = max(1, round(sum(said) / len(said)))
        return full

    def _stand_in(
        self, target: int, way: Way, share: np.float32, hidden: Flat, lengths: np.ndarray
    ) -> None:
        """Adds what one way says of a missing modality; zeros where nothing imputes it."""
        if len(way.weights):
            places, sizes = (way.source, target), (self.dim, way.window)
            self.kernels.impute_all(hidden, *places, lengths, *sizes, way.weights, share)
            return
        for clip, (time, goal) in zip(hidden, lengths[:, [way.source, target]], strict=True):
            rows = clip.reshape(len(clip), -1, self.wide)
            steps = self._floor(way.imputer, rows[way.source, 1 : time + 1], int(goal))
            rows[target, 1 : goal + 1] += share * steps

    def _floor(self, imputer: Imputer, source: Flat, goal: int) -> Flat:
        """What an imputer that has learned next to nothing says of the steps."""
        if isinstance(imputer, Copy):
            moments = np.rint((np.arange(goal) + 0.5) * (len(source) / goal) - 0.5)
            copied: Flat = source[np.clip(moments.astype(np.int64), 0, len(source) - 1)]
            return copied
        steps = np.zeros((goal, self.wide), np.float32)
        if isinstance(imputer, MeanFill):
            steps[:, : self.dim] = array_of(imputer.mean)
        return steps

    def _scaled(self, number: int, given: Steps | None) -> Steps:
        """Steps as the kernel takes them, with differences and centred where that is wanted."""
        steps = cast(Steps, given)
        if self.is_printed[number]:
            is_plain = steps.flags.c_contiguous and steps.flags.writeable
            return steps if is_plain else steps.copy()
        is_known = ~np.isnan(steps[:, 0])
        with torch.no_grad():
            tensors = torch.from_numpy(steps), torch.from_numpy(is_known)
            found: Steps = self.scalers[number](*tensors).numpy()
        found[~is_known] = np.nan
        return found


def _shares(ways: list[Way]) -> list[float]:
    """A softmax of the preferences."""
    best = max((way.preference for way in ways), default=0.0)
    liked = [math.exp(way.preference - best) for way in ways]
    return [one / sum(liked) for one in liked]


def _chunks(sizes: list[list[int]]) -> Iterator[list[int]]:
    """Rows of one pattern and like length, a few at a time: their room is that of the longest."""
    patterns: dict[tuple[bool, ...], list[int]] = {}
    for row, lengths in enumerate(sizes):
        patterns.setdefault(tuple(map(bool, lengths)), []).append(row)
    for rows in patterns.values():
        rows.sort(key=lambda row: max(sizes[row]))
        for start in range(0, len(rows), CHUNK):
            yield rows[start : start + CHUNK]


@lru_cache(maxsize=64)
def _positions(doublings: int, dim: int) -> Flat:
    """Positions 0, 1, 2, … of a power of 2 of steps and [CLS], flat and filled up with zeros."""
    table = position_table((1 << doublings) + 1, dim, torch.float32, torch.device("cpu")).numpy()
    return np.pad(table, ((0, 0), (0, in_vectors(dim) - dim))).reshape(-1)


def _mean_and_scale(scaler: Scaler) -> tuple[Flat, Flat]:
    """What features lose and are divided by; nothing where the scaler itself is asked."""
    if scaler.scaling == AS_PRINTED:
        return array_of(scaler.mean), array_of(scaler.scale)
    width = scaler.scaling.width(len(scaler.mean))
    return np.zeros(width, np.float32), np.ones(width, np.float32)
