"""The backbone as a graph: scale, encode, fuse, answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from mmalign.export.graph import Graph, Value, mean_of
from mmalign.export.layers import counted, layer_read, norm_layer, sequential, sinusoids
from mmalign.export.sequences import Sequences, array, differences, inside_of, masked, moved
from mmalign.model.attention import TransformerLayer
from mmalign.model.backbone import Backbone
from mmalign.model.encoder import Encoder
from mmalign.model.fusion import CrossAttention
from mmalign.predictor.scaler import Scaler


@dataclass(frozen=True)
class HiddenValues:
    """Hidden sequences of a graph, as `mmalign.model.hidden.Hidden` holds them.

    Attributes:
        head: The hidden [CLS] `[batch, dim]`.
        steps: `[batch, time, dim]`, zeros from each clip's length on.
        lengths: Steps of each clip, at least 1.
        dim: Width of a step.
    """

    head: Value
    steps: Value
    lengths: Value
    dim: int

    @property
    def graph(self) -> Graph:
        """Where it is computed."""
        return self.steps.graph

    @property
    def inside(self) -> Value:
        """Which steps are before each clip's length."""
        return inside_of(self.lengths, self.steps.size(1))

    @property
    def with_head(self) -> Value:
        """[CLS] and steps as one sequence."""
        return self.graph.join([self.head.wider(1), self.steps], 1)


def scaled(scaler: Scaler, given: Sequences) -> Value:
    """Features as the scaler gives them, zeros where nothing is known."""
    shifted = masked(given.steps - array(scaler.mean), given.observed)
    if scaler.scaling.centre:
        count = given.observed.cast(np.float32).sum(1, keep=True).at_least(1).wider(2)
        shifted = shifted - shifted.sum(1, keep=True) / count
    found = shifted / array(scaler.scale)
    if scaler.scaling.differences:
        known = given.observed.cast(np.float32).wider(2)
        is_change = given.observed & (moved(known, -1).narrower(2) > 0)
        change = masked(differences(found) * array(scaler.step_gain), is_change)
        found = given.graph.join([found, change], 2)
    return masked(found, given.observed)


def encoded(encoder: Encoder, features: Value, given: Sequences) -> HiddenValues:
    """Hidden sequences of a modality; of clips that lack it, something finite."""
    graph = given.graph
    dim, _, kernel = encoder.project.weight.shape
    weights = array(encoder.project.weight), array(encoder.project.bias)
    around = [kernel // 2, kernel // 2]
    signal = features.transpose(0, 2, 1).apply("Conv", *weights, pads=around)
    gap = np.zeros(dim, np.float32) if encoder.gap is None else array(encoder.gap)
    is_gap = (given.inside & ~given.observed).wider(2)
    projected = graph.where(is_gap, gap, signal.transpose(0, 2, 1))
    head = graph.value(array(encoder.cls)).expand(given.steps.size(0), 1, dim)
    sequence = graph.join([head, projected], 1)
    sequence = sequence + counted(graph, sequence.size(1), dim)
    is_valid = _with_head(given.observed)
    for layer in cast(Iterable[TransformerLayer], encoder.layers):
        band = getattr(layer.attention, "band", 0)
        is_read = is_valid & _is_near(graph, sequence.size(1), band) if band else is_valid
        sequence = layer_read(layer, sequence, sequence, is_read)
    sequence = norm_layer(encoder.norm, sequence)
    steps = masked(sequence.slice(1, 1, sequence.size(1)), given.inside)
    return HiddenValues(sequence.slice(1, 0, 1).narrower(1), steps, given.lengths, dim)


def _is_near(graph: Graph, time: Value, band: int) -> Value:
    """Which steps read which within a band `[1, time, time]`; [CLS] reads and is read by all."""
    times = graph.range(time)
    apart = (times.wider(1) - times).apply("Abs")
    is_head = times < 1
    return ((apart < band + 1) | is_head | is_head.wider(1)).wider(0)


def answer(backbone: Backbone, hidden: Mapping[str, HiddenValues]) -> Value:
    """The answer of the backbone from hidden sequences of all modalities."""
    ordered = [hidden[name] for name in backbone.modalities]
    placed = [one.with_head for one in ordered]
    fusion = backbone.fuse
    if fusion.has_positions:
        clock = ordered[0].lengths
        placed = [p + _positions(clock, one) for p, one in zip(placed, ordered, strict=True)]
    found: list[list[Value]] = [[] for _ in ordered]
    for (reader, memory), read in zip(fusion.readings, fusion.readers, strict=True):
        head = placed[reader].slice(1, 0, 1)
        is_valid = _with_head(ordered[memory].inside)
        found[reader].append(_crossed(cast(CrossAttention, read), head, placed[memory], is_valid))
    seen = [mean_of(heads) for heads in found]
    if backbone.is_pooled:
        seen += [part for one in ordered for part in _pooled(one)]
    return sequential(backbone.head, ordered[0].graph.join(seen, 1))


def _with_head(is_valid: Value) -> Value:
    """Which of [CLS] and steps can be read `[batch, 1, time + 1]`; [CLS] always can."""
    numbers = is_valid.cast(np.int64)
    head = numbers.graph.zeros(numbers.size(0), 1, dtype=np.int64) + 1
    return (numbers.graph.join([head, numbers], 1) > 0).wider(1)


def _crossed(read: CrossAttention, head: Value, memory: Value, is_valid: Value) -> Value:
    for layer in read.layers:
        head = layer_read(cast(TransformerLayer, layer), head, memory, is_valid)
    return norm_layer(read.norm, head.narrower(1))


def _positions(clock: Value, hidden: HiddenValues) -> Value:
    """Positions on the clock of the first modality, 0 for [CLS]."""
    rate = (clock.cast(np.float64) / hidden.lengths.cast(np.float64)).wider(1)
    times = hidden.graph.range(hidden.steps.size(1)).cast(np.float64)
    placed = (times + 0.5) * rate + 0.5
    return sinusoids(hidden.graph.join([rate * 0.0, placed], 1), hidden.dim)


def _pooled(hidden: HiddenValues) -> list[Value]:
    """Mean and maximum of each clip's steps."""
    mean = hidden.steps.sum(1) / hidden.lengths.cast(np.float32).wider(1)
    lowest = np.array(-np.inf, np.float32)
    return [mean, hidden.graph.where(hidden.inside.wider(2), hidden.steps, lowest).max(1)]
