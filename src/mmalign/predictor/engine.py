"""What a trained network says of clips, by compiled calls alone. No torch.

Clips of one pattern are three compiled calls, without padding.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, cast

import numpy as np
from jaxtyping import Float32

from mmalign.data.batching import Watch, unwatched
from mmalign.data.clip import Steps
from mmalign.data.names import under
from mmalign.data.split import Split
from mmalign.model.lines import Flat, in_vectors, packed_fitter, padded
from mmalign.model.readings import readings
from mmalign.predictor.packing import Weights, packed_answer, packed_encoder
from mmalign.predictor.plain import Row
from mmalign.predictor.routes import Floor, Route, Way, shared

LONGEST = 512
"""Longer clips are left to torch: its products of large matrices are as fast."""

Lengths = list[list[int]]
"""Clip by clip the steps of each modality."""

Outputs = Float32[np.ndarray, "clips outputs"]
Scale = Callable[[Steps], Steps]

CHUNK = 32
"""Clips whose hidden sequences are in memory at once."""

SPARE = 16
"""Rows beyond a sequence that whole tiles may touch."""


@dataclass(frozen=True)
class Parts:
    """What a network is made of.

    Attributes:
        names: Modalities, in the network's order.
        directions: Source and target of each imputer.
        heads: Attention heads.
        has_positions: Whether positions are added at the fusion.
        weights: All arrays, by their names in `Model.state_dict`.
        scalers: Of each modality, what scales its steps where mean and scale alone do not.
        floors: Of each direction, what imputes if that is no fitter.
    """

    names: tuple[str, ...]
    directions: tuple[tuple[str, str], ...]
    heads: int
    has_positions: bool
    weights: Weights
    scalers: tuple[Scale | None, ...]
    floors: tuple[Floor | None, ...]

    @property
    def is_pair(self) -> bool:
        """Whether this is the paper's: two modalities, one direction."""
        return self.directions == (self.names,)


class Engine:
    """Packed weights of a network, and what the kernels must know about it.

    Args:
        parts: What the network is made of.
        kernels: Has `encode_all`, `impute_all` and `answer_all`.
    """

    def __init__(self, parts: Parts, kernels: Any) -> None:
        self.kernels = kernels
        self.names, self.scalers, weights = parts.names, parts.scalers, parts.weights
        backbone = under(weights, "backbone.")
        encoders = [under(backbone, f"encoders.{n}.") for n in range(len(self.names))]
        dim, _, kernel = encoders[0]["project.weight"].shape
        self.dim, self.wide, is_pre = dim, in_vectors(dim), "norm.weight" in encoders[0]
        layers, crossed = _layers(encoders[0]), _layers(under(backbone, "fuse.readers.0."))
        is_pooled = backbone["head.0.weight"].shape[1] > len(self.names) * dim
        self.encoding = dim, parts.heads, kernel, layers, is_pre
        self.answering = dim, parts.heads, crossed, is_pre, parts.has_positions, is_pooled
        self.encoders = [
            packed_encoder(encoder, layers, *self._mean_and_scale(number, encoder, weights))
            for number, encoder in enumerate(encoders)
        ]
        self.heads_of_missing = [encoder["cls"] for encoder in encoders]
        self.readings = np.array(readings(len(self.names)), np.int64)
        self.fusion = packed_answer(backbone, len(self.readings), crossed)
        self.ways = [_ways(parts, name) for name in self.names]
        self.routes: dict[tuple[bool, ...], Route] = {}
        self.gate = float(weights["gate"]) if parts.is_pair else 1.0
        self.count = len(backbone["head.2.bias"])
        self.label_scale = float(weights["label_mean"]), float(weights["label_scale"])

    def _mean_and_scale(self, number: int, encoder: Weights, weights: Weights) -> tuple[Flat, Flat]:
        """What features lose and are divided by; nothing where a scaler is asked."""
        if self.scalers[number] is None:
            return weights[f"scalers.{number}.mean"], weights[f"scalers.{number}.scale"]
        width = encoder["project.weight"].shape[1]
        return np.zeros(width, np.float32), np.ones(width, np.float32)

    def outputs(self, split: Split, watch: Watch = unwatched) -> Outputs | None:
        """Raw outputs of the model, one row a clip; None where a clip is too long."""
        columns = [split.sequences[name] for name in self.names]
        sizes = np.stack([split.lengths(name) for name in self.names], axis=1).tolist()
        # Taken when its group's turn comes: a list of all would map a whole file into memory.
        return self._read(sizes, lambda row: [column[row] for column in columns], watch)

    def outputs_of(self, clips: list[Row]) -> Outputs | None:
        """The same for the sequences of each clip."""
        sizes = [[0 if steps is None else len(steps) for steps in clip] for clip in clips]
        return self._read(sizes, clips.__getitem__, unwatched)

    def _read(self, sizes: Lengths, clip_at: Callable[[int], Row], watch: Watch) -> Outputs | None:
        """Outputs of clips of these sizes, which are asked for group by group."""
        if max(map(max, sizes), default=LONGEST + 1) > LONGEST:
            return None
        if len(sizes) == 1:  # nothing to watch
            return self._answers([clip_at(0)], sizes)
        found = np.empty((len(sizes), self.count), np.float32)
        groups = list(_chunks(sizes))
        for rows in watch(iter(groups), len(groups)):
            present = [sizes[row] for row in rows]
            found[rows] = self._answers([clip_at(row) for row in rows], present)
        return found

    def _answers(self, clips: list[Row], present: Lengths) -> Outputs:
        """Outputs for clips of one pattern; a pair mixes two answers where its gate says so."""
        outputs = self._outputs(clips, present)
        if self.gate == 1.0 or not all(present[0]):
            return outputs
        visible: list[Row] = [[clip[0], None] for clip in clips]
        alone = self._outputs(visible, [[lengths[0], 0] for lengths in present])
        return np.float32(self.gate) * outputs + np.float32(1 - self.gate) * alone

    def _outputs(self, clips: list[Row], present: Lengths) -> Outputs:
        route, lengths = self._route(present[0]), present
        if route.missing:
            lengths = [route.completed(clip) for clip in present]
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
                missing[number] = shared([w for w in self.ways[number] if pattern[w.source]])
            there = [n for n, is_there in enumerate(pattern) if is_there]
            route = self.routes[pattern] = Route(there, missing)
        return route

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
            source = rows[way.source, 1 : time + 1, : self.dim]
            if way.floor is not None:
                rows[target, 1 : goal + 1, : self.dim] += share * way.floor(source, int(goal))

    def _scaled(self, number: int, given: Steps | None) -> Steps:
        """Steps as the kernel takes them, with differences and centred where that is wanted."""
        steps, scale = cast(Steps, given), self.scalers[number]
        if scale is not None:
            return scale(steps)
        is_plain = steps.flags.c_contiguous and steps.flags.writeable
        return steps if is_plain else steps.copy()


def _layers(weights: Weights) -> int:
    """How many layers there are."""
    return sum(name.endswith(".widen.bias") for name in weights)


def _ways(parts: Parts, target: str) -> list[Way]:
    """How a modality is imputed, from each source that there is an imputer for."""
    found, liked = [], parts.weights.get("bank.preferences")
    for number, (source, goal) in enumerate(parts.directions):
        if goal == target:
            own = under(parts.weights, f"bank.ways.{number}.")
            fitter, packed, window = under(own, "imputer.fitter."), np.empty(0, np.float32), 0
            if fitter:
                packed, window = packed_fitter(fitter), len(fitter["project.bias"]) // 2
            preference = 0.0 if liked is None else float(liked[number])
            place, floor = parts.names.index(source), parts.floors[number]
            ratio = float(own["length_ratio"])
            found.append(Way(place, floor, packed, window, ratio, preference))
    return found


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
    """Positions 0, 1, 2, … of a power of 2 of steps and [CLS], flat and filled up with zeros.

    They are those of `mmalign.model.positions.sinusoids`.
    """
    half = (dim + 1) // 2
    rates = np.exp(np.arange(half) * (-math.log(10_000.0) / half))
    angles = np.arange((1 << doublings) + 1)[:, None] * rates
    both = np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(len(angles), -1)
    return padded(both[:, :dim].astype(np.float32))
