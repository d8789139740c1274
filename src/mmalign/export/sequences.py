"""Padded sequences inside a graph, with what is missing in them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmalign.export.graph import Graph, Value


@dataclass(frozen=True)
class Sequences:
    """One modality of a batch.

    Attributes:
        steps: `[batch, time, dim]`, zeros in gaps and from each clip's length on.
        lengths: Steps of each clip, 1 where it lacks the modality.
        inside: Which steps are before a clip's length.
        observed: Those of them that are in no gap.
        is_there: Which clips have the modality.
    """

    steps: Value
    lengths: Value
    inside: Value
    observed: Value
    is_there: Value

    @property
    def graph(self) -> Graph:
        """Where it is computed."""
        return self.steps.graph

    def with_steps(self, steps: Value) -> "Sequences":
        """Other steps at the same places, zeros outside."""
        return replace(self, steps=masked(steps, self.inside))


def length_name(modality: str) -> str:
    """The input that tells how many steps of a modality each clip has."""
    return f"{modality}.length"


def given_sequences(graph: Graph, modality: str, dim: int) -> Sequences:
    """Two inputs of a graph: steps, in which a row of NaN is a gap, and lengths, 0 for missing."""
    features = graph.input(modality, np.float32, ["batch", f"{modality} steps", dim])
    lengths = graph.input(length_name(modality), np.int64, ["batch"])
    features = features.padded(1, 0, 1)  # so that no sequence is empty
    inside = places_in(features) < lengths.wider(1)
    is_gap = features.slice(2, 0, 1).narrower(2).apply("IsNaN", dtype=bool)
    observed = inside & ~is_gap
    is_there = observed.cast(np.int64).max(1) > 0
    return Sequences(masked(features, observed), lengths.at_least(1), inside, observed, is_there)


def places_in(steps: Value) -> Value:
    """0, 1, 2, … along the time of `[batch, time, dim]`."""
    return steps.graph.range(steps.size(1))


def inside_of(lengths: Value, time: Value) -> Value:
    """Which of so many steps are before each clip's length."""
    return lengths.graph.range(time) < lengths.wider(1)


def masked(steps: Value, is_kept: Value) -> Value:
    """The steps, zeros where they are not kept."""
    return steps.graph.where(is_kept.wider(2), steps, 0)


def without_gaps(given: Sequences, *, smooth: bool) -> Sequences:
    """As `mmalign.experts.gaps.without_gaps` does it: signals are bridged, lists close up."""
    times = places_in(given.steps)
    time = given.steps.size(1)
    keys = given.graph.where(given.observed, times, time)
    known, _ = given.graph.op("TopK", keys, time, outputs=2, axis=1, largest=0)
    known = known.at_most(time - 1)
    count = given.observed.cast(np.int64).sum(1, keep=True)
    if smooth:
        return given.with_steps(_bridged(given, known, count, times))
    lengths = count.narrower(1).at_least(1)
    inside = times < count
    closed = masked(given.steps.at(known), inside)
    return Sequences(closed, lengths, inside, inside, given.is_there)


def _bridged(given: Sequences, known: Value, count: Value, times: Value) -> Value:
    """A straight line over each gap; what is observed stays as it is."""
    is_there = given.observed.cast(np.int64)
    before = is_there.apply("CumSum", np.array(1, np.int64)) - is_there
    after = before.at_most((count - 1).at_least(0))
    right = known.apply("GatherElements", after, axis=1)
    earlier = (after - (right > times).cast(np.int64)).at_least(0)
    left = known.apply("GatherElements", earlier, axis=1)
    way = (times - left).cast(np.float64) / (right - left).at_least(1).cast(np.float64)
    part = way.at_least(0).at_most(1).cast(np.float32).wider(2)
    return given.steps.at(left) * (1.0 - part) + given.steps.at(right) * part


def coarse(given: Sequences, together: int) -> Sequences:
    """As `mmalign.data.inputs.coarse` does it: means of so many steps in a row."""
    if together == 1:
        return given
    totals = _rows_of(given.steps.cast(np.float64), together).sum(2)
    left = given.lengths.wider(1) - places_in(totals) * together
    counts = left.at_least(1).at_most(together).cast(np.float64)
    return _fewer(given, together, (totals / counts.wider(2)).cast(np.float32))


def thinned(given: Sequences, stride: int) -> Sequences:
    """As `mmalign.experts.taps_kernels.fill_thinned` does it: maxima of so many steps in a row.

    No step is negative, so zeros after the last one change no maximum.
    """
    return given if stride == 1 else _fewer(given, stride, _rows_of(given.steps, stride).max(2))


def _rows_of(steps: Value, together: int) -> Value:
    """So many steps in a row beside each other: `[batch, fewer, together, dim]`."""
    padded = steps.padded(1, 0, -steps.size(1) % together)
    return padded.reshape(0, -1, together, steps.size(2))


def _fewer(given: Sequences, together: int, steps: Value) -> Sequences:
    """The same clips with one step for so many, zeros outside."""
    lengths = (given.lengths + (together - 1)) // together
    inside = inside_of(lengths, steps.size(1))
    return Sequences(masked(steps, inside), lengths, inside, inside, given.is_there)


def moved(steps: Value, offset: int) -> Value:
    """What stands so many steps later, or earlier, at each step; zeros beyond the ends."""
    if offset == 0:
        return steps
    time = steps.size(1)
    wide = steps.padded(1, max(-offset, 0), max(offset, 0))
    start = max(offset, 0)
    return wide.slice(1, start, time + start)


def linear(given: Value, weight: np.ndarray, bias: np.ndarray) -> Value:
    """A linear layer, with its weight as torch keeps it: `[outputs, inputs]`."""
    return given @ np.ascontiguousarray(weight.T) + bias


def normal(given: Value, gain: np.ndarray, bias: np.ndarray, epsilon: float = 1e-5) -> Value:
    """Layer norm over the last axis."""
    return given.apply("LayerNormalization", gain, bias, axis=-1, epsilon=epsilon)


def differences(steps: Value) -> Value:
    """What each step adds to the one before; nothing for the first."""
    before = steps.graph.join([steps.slice(1, 0, 1), steps.slice(1, 0, steps.size(1) - 1)], 1)
    return steps - before


def array(given: Any) -> np.ndarray:
    """A tensor, or an array, as an array of float32."""
    detached = given.detach().cpu().numpy() if hasattr(given, "detach") else given
    return np.asarray(detached, np.float32)
