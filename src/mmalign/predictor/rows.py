"""The paper's pair on the rows of whole batches, forward and back, without torch's autograd.

Layers are those of `mmalign.model.compiled_layers`; so are sums and dropout. What torch does around
them is most of a training step on a few thousand numbers, and none of it is left here.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import nn

from mmalign.align.compiled import kernels
from mmalign.imputers.mmalign import AlignmentDynamicsLearner
from mmalign.model.adamw import AdamW
from mmalign.model.compiled_layers import Sizes, backward, forward, sizes_of, weights_of
from mmalign.model.flat import Flat, FlatWeights
from mmalign.model.hidden import Hidden, Known
from mmalign.model.lines import in_vectors
from mmalign.model.positions import position_table, scaled_positions
from mmalign.model.readings import readings
from mmalign.model.streams import Streams
from mmalign.predictor.model import Model
from mmalign.predictor.scaler import Scaler

NO_GAPS = np.empty((0, 0), np.bool_)
CLS, GAP = 2, 3
"""Places of two tensors of an encoder, after its convolution and bias and before its layers."""

Starts = Int64[np.ndarray, " clips_and_one"]
Lengths = Int64[np.ndarray, " clips"]
Outputs = Float32[np.ndarray, "clips outputs"]
Kept = list[tuple[Flat, Flat]]


class Rows(NamedTuple):
    """[CLS] and steps of all clips, one after the other.

    Attributes:
        numbers: Of all rows, with room for a few more.
        starts: Where the rows of each clip begin.
        lengths: Steps of each clip.
    """

    numbers: Flat
    starts: Starts
    lengths: Lengths


@dataclass(frozen=True)
class Encoded:
    """A modality of a batch after its encoder, and what the way back needs."""

    rows: Rows
    number: int
    given: Flat
    is_known: np.ndarray
    sizes: Sizes
    kept: Kept
    space: Flat
    has_gaps: bool


@dataclass(frozen=True)
class Imputed:
    """Rows that stand in for the victim, and what the way back needs."""

    rows: Rows
    plans: Flat
    totals: Flat


@dataclass(frozen=True)
class Answer:
    """What the network says of a batch, and what the way back needs."""

    outputs: Outputs
    middle: Float32[np.ndarray, "clips dim"]
    seen: Float32[np.ndarray, "clips dims"]
    placed: list[Rows]
    kept: list[tuple[Sizes, Kept]]


class Arena:
    """Memory that every step takes anew; what was taken is lost when it is cleared."""

    def __init__(self) -> None:
        self.release()

    def release(self) -> None:
        """Forget what was taken, and keep no more memory than at first."""
        self.numbers, self.used = np.empty(1 << 20, np.float32), 0

    def clear(self) -> None:
        """Let everything be taken again."""
        self.used = 0

    def take(self, count: int) -> Flat:
        """An array of so many numbers, which may be anything."""
        if self.used + count > len(self.numbers):  # others keep the old memory alive
            self.numbers, self.used = np.empty(2 * (self.used + count), np.float32), 0
        found = self.numbers[self.used : self.used + count]
        self.used += -(-count // 16) * 16
        return found

    def zeros(self, count: int) -> Flat:
        """An array of so many zeros."""
        found = self.take(count)
        found[:] = 0
        return found


class PairRows:
    """Backbone and fitter of a pair, on copies of their weights.

    Args:
        model: With compiled layers, for a visible modality and its victim.
        optimizer: What trains the backbone.
    """

    def __init__(self, model: Model, optimizer: AdamW) -> None:
        self.modalities, self.arena = model.modalities, Arena()
        self.kernels: Any = kernels("model.kernels.batches")
        self.pairs: Any = kernels("model.kernels.pairs")
        backbone: Any = model.backbone
        fusion, self.way = backbone.fuse, model.bank[model.modalities[0], model.modalities[1]]
        self.fitter = cast(AlignmentDynamicsLearner, self.way.imputer).fitter
        self.has_positions, self.readings = fusion.has_positions, readings(2)
        modules = *backbone.encoders, *fusion.readers
        self.sizes = [sizes_of(part.layers, backbone.encoders[0].dropout) for part in modules]
        parts = [_tensors(encoder) for encoder in backbone.encoders]
        parts += [weights_of(reader.layers) for reader in fusion.readers]
        parts.append([w for linear in (backbone.head[0], backbone.head[2]) for w in _of(linear)])
        self.spans = [range(*ends) for ends in pairwise(np.cumsum([0, *map(len, parts)]).tolist())]
        tensors = [one for part in parts for one in part]
        self.flat = FlatWeights(tensors, optimizer, cast(Any, kernels("model.kernels.adam")))
        places = [self.flat.part(span.start, span.stop) for span in self.spans]
        self.weights = [self.flat.weights[place] for place in places]
        self.slopes = [self.flat.slopes[place] for place in places]
        self.kernel, self.dim = backbone.encoders[0].project.kernel_size[0], len(parts[0][CLS])
        self.outputs, self.scalers = backbone.outputs, cast(list[Scaler], model.scalers)

    def encode(self, number: int, batch: Streams) -> Encoded:
        """A modality that all clips have."""
        name, take, sizes = self.modalities[number], self.arena.take, self.sizes[number].drawn()
        features, lengths = batch.features[name].contiguous().numpy(), batch.lengths[name].numpy()
        observed, shape = batch.observed.get(name), (self.kernel, features.shape[2])
        starts = self.kernels.starts_of(lengths)
        given = take(self.kernels.given_room(starts, *shape))
        is_known = np.empty(int(starts[-1]), np.bool_)
        known = NO_GAPS if observed is None else observed.numpy()
        # Looked up anew: a checkpoint is loaded after this was made.
        scaler = self.scalers[number]
        scale = scaler.mean.numpy(), (1 / scaler.scale).numpy()
        self.kernels.lay_out(features, starts, known, *scale, self.kernel, is_known, given)
        x, weights = take(self.kernels.rows_room(starts, self.dim)), self.weights[number]
        space = take(self.kernels.begin_room(starts, *shape, self.dim))
        how = self.kernel, weights, _table(features.shape[1], self.dim), self.dim
        self.kernels.begin(given, starts, is_known, *how, *sizes.chance(0), space, x)
        places, at = (starts, starts, is_known), self._first_layer(number)
        x, kept = forward(self.kernels, x, places, None, weights, at, sizes, take)
        rows, has_gaps = Rows(x, starts, lengths), observed is not None
        return Encoded(rows, number, given, is_known, sizes, kept, space, has_gaps)

    def encode_back(self, encoded: Encoded, slopes: Flat) -> None:
        """Add the slopes of an encoder's weights; `slopes` are overwritten."""
        number, sizes, starts = encoded.number, encoded.sizes, encoded.rows.starts
        weights, to_weights = self.weights[number], self.slopes[number]
        known = weights, self._first_layer(number), sizes, to_weights, self.arena.take
        slopes = backward(self.kernels, slopes, (starts, starts), encoded.kept, None, *known)
        places = encoded.given, starts, encoded.is_known, self.kernel, self.dim
        chance = sizes.chance(0)
        self.kernels.begin_back(slopes, *places, *chance, encoded.space, to_weights)

    def _first_layer(self, number: int) -> int:
        """Where the weights of an encoder's first layer begin among its own."""
        layers: int = self.sizes[number].layers * self.kernels.layer_numbers(self.dim)
        return self.weights[number].size - layers

    def known(self, encoded: Encoded, batch: Streams) -> Known:
        """The same as torch has it, cut off from the gradient."""
        name, rows = self.modalities[encoded.number], encoded.rows
        shape = batch.features[name].shape[:2]
        head, steps = torch.empty(shape[0], self.dim), torch.empty(*shape, self.dim)
        filled = head.numpy(), steps.numpy()
        self.kernels.to_hidden(rows.numbers, rows.starts, self.dim, *filled)
        return Known(Hidden(head, steps, batch.lengths[name]), batch.is_present(name))

    def impute(self, source: Rows) -> Imputed:
        """What stands in for the victim: steps carried through the fitter's plan."""
        take, dim, window = self.arena.take, self.dim, self.fitter.window
        ratio = float(self.way.length_ratio)
        lengths = np.maximum(np.round(source.lengths * ratio), 1).astype(np.int64)
        goal = self.kernels.starts_of(lengths)
        plans = take(self.kernels.rows_room(source.starts, in_vectors(2 * window + 1)))
        space = take(self.pairs.plan_room(source.starts, dim))
        given = source.numbers, source.starts, goal
        self.pairs.plan_rows(*given, dim, window, self.fitter.packed(), space, plans)
        totals, found = take(int(goal[-1])), take(self.kernels.rows_room(goal, dim))
        cls = self.weights[1][self._cls()]
        self.pairs.impute_rows(*given, plans, window, cls, dim, totals, found)
        return Imputed(Rows(found, goal, lengths), plans, totals)

    def impute_back(self, imputed: Imputed, slopes: Flat, source: Rows, to_source: Flat) -> None:
        """Add to the slopes of the source, and of the victim's [CLS]."""
        goal = imputed.rows.starts
        self.slopes[1][self._cls()] += slopes.reshape(-1, self.dim)[goal[:-1]].sum(axis=0)
        places = source.starts, goal, imputed.plans, self.fitter.window
        self.pairs.impute_rows_back(slopes, *places, self.dim, imputed.totals, to_source)

    def _cls(self) -> slice:
        """Where the victim's [CLS] lies among its encoder's weights."""
        first = self._first_layer(1) - 2 * self.dim
        return slice(first, first + self.dim)

    def answer(self, visible: Rows, victim: Rows) -> Answer:
        """What fusion and head make of both (paper: Eq. 4)."""
        placed, batch, dim = self._placed(visible, victim), len(visible.lengths), self.dim
        own, seen = np.arange(batch + 1), np.empty((batch, 2, dim), np.float32)
        kept = []
        for number, (reader, memory) in enumerate(self.readings, start=2):
            heads = self.arena.take(self.kernels.rows_room(own, dim))
            self.pairs.take_heads(placed[reader].numbers, placed[reader].starts, dim, heads)
            sizes, rows = self.sizes[number].drawn(), placed[memory]
            places = own, rows.starts, np.ones(int(rows.starts[-1]), np.bool_)
            given = rows.numbers, self.weights[number], 0, sizes, self.arena.take
            found, saved = forward(self.kernels, heads, places, *given)
            seen[:, reader] = found[: batch * dim].reshape(batch, dim)
            kept.append((sizes, saved))
        weight, bias, last_weight, last_bias = self._head(self.weights[-1])
        flat = seen.reshape(batch, -1)
        middle = np.tanh(flat @ weight.T + bias)
        return Answer(middle @ last_weight.T + last_bias, middle, flat, placed, kept)

    def answer_back(self, answer: Answer, to_outputs: Outputs) -> list[Flat]:
        """The slopes of both sequences; those of fusion and head are added to the others."""
        weight, _, last_weight, _ = self._head(self.weights[-1])
        to_weight, to_bias, to_last_weight, to_last_bias = self._head(self.slopes[-1])
        to_last_weight += to_outputs.T @ answer.middle
        to_last_bias += to_outputs.sum(axis=0)
        to_middle = to_outputs @ last_weight * (1 - answer.middle**2)
        to_weight += to_middle.T @ answer.seen
        to_bias += to_middle.sum(axis=0)
        batch, dim = len(to_outputs), self.dim
        to_seen, own = (to_middle @ weight).reshape(batch, 2, dim), np.arange(batch + 1)
        to_placed = [self.arena.zeros(rows.numbers.size) for rows in answer.placed]
        for number, (reader, memory) in enumerate(self.readings):
            slopes = self.arena.zeros(self.kernels.rows_room(own, dim))
            slopes[: batch * dim].reshape(batch, dim)[:] = to_seen[:, reader]
            (sizes, kept), rows = answer.kept[number], answer.placed[memory]
            weights, to_weights = self.weights[number + 2], self.slopes[number + 2]
            known = (rows.numbers, to_placed[memory]), weights, 0, sizes, to_weights
            places = own, rows.starts
            to_heads = backward(self.kernels, slopes, places, kept, *known, self.arena.take)
            starts = answer.placed[reader].starts
            self.pairs.add_heads(to_heads, starts, dim, to_placed[reader])
        return to_placed

    def _placed(self, *sequences: Rows) -> list[Rows]:
        """Sequences with their positions on the first one's clock."""
        found, clock = [], sequences[0].lengths
        for numbers, starts, lengths in sequences:
            longest, jump = int(lengths.max()), 0
            table = _table(longest, self.dim)
            if not self.has_positions:
                table = np.zeros_like(table)
            elif not np.array_equal(lengths, clock):
                both = torch.from_numpy(lengths), torch.from_numpy(clock)
                scaled = scaled_positions(longest, *both, self.dim).float().numpy()
                table, jump = scaled.reshape(-1), scaled[0].size
            placed = self.arena.take(numbers.size)
            self.pairs.place_rows(numbers, starts, table, jump, self.dim, placed)
            found.append(Rows(placed, starts, lengths))
        return found

    def _head(self, numbers: Flat) -> list[np.ndarray]:
        """Weights and biases of the two layers of the head, or their slopes."""
        dim, outputs = self.dim, self.outputs
        shapes = (dim, 2 * dim), (dim,), (outputs, dim), (outputs,)
        ends = accumulate((math.prod(shape) for shape in shapes), initial=0)
        places = zip(pairwise(ends), shapes, strict=True)
        return [numbers[start:end].reshape(shape) for (start, end), shape in places]


def _tensors(encoder: nn.Module) -> list[Any]:
    """What the kernels read of an encoder; zeros stand for a gap that there is none of."""
    given: Any = encoder
    gap = len(given.cls) if given.gap is None else given.gap
    return [*_of(given.project), given.cls, gap, *weights_of(given.layers)]


def _of(layer: Any) -> list[Any]:
    return [layer.weight, layer.bias]


@lru_cache(maxsize=64)
def _table(time: int, dim: int) -> Flat:
    found: Flat = position_table(time + 1, dim, torch.float32, torch.device("cpu")).numpy()
    return found.reshape(-1)
