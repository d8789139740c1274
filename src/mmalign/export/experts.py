"""Experts as a graph: the same sum over what a clip has."""

import itertools

import numpy as np
from jaxtyping import Int64

from mmalign.data.inputs import Inputs
from mmalign.experts.modality import AGREEMENT, NETWORK_GAIN, ModalityExperts
from mmalign.experts.panel import Names, Panel
from mmalign.experts.ridge_expert import RidgeExpert
from mmalign.experts.taps import OFFSETS, STEM, Taps
from mmalign.experts.taps_expert import TapsExpert
from mmalign.experts.windows import WIDTHS, Windows
from mmalign.export.graph import Graph, Value, mean_of
from mmalign.export.patterns import pattern_shares
from mmalign.export.sequences import (
    Sequences,
    coarse,
    differences,
    given_sequences,
    linear,
    masked,
    moved,
    normal,
    places_in,
    thinned,
    without_gaps,
)


def experts_outputs(graph: Graph, panel: Panel) -> Value:
    """Evidence `[batch, outputs]` of a panel, from inputs that the graph is given."""
    given = {
        name: given_sequences(graph, name, len(panel.members[name,].taps.inputs.mean))
        for name in panel.modalities
    }
    whole = {
        name: without_gaps(found, smooth=panel.members[name,].sense.smooth)
        for name, found in given.items()
    }
    shares = _shares(graph, panel, [given[name].is_there for name in panel.modalities])
    total = graph.value(panel.prior)
    for number, (names, member) in enumerate(panel.members.items()):
        said = _evidence(_read(panel, names, whole), member) - panel.prior_of(names)
        total = shares.slice(1, number, number + 1) * said + total
    return total


def _shares(graph: Graph, panel: Panel, is_there: list[Value]) -> Value:
    """The weight of each member `[batch, members]`, by what each clip has; NaN if nothing."""
    members = list(panel.members)
    sizes = [2**number for number in range(len(panel.modalities))]
    table = np.full((2 * sizes[-1], len(members)), np.nan)
    for pattern in itertools.product((False, True), repeat=len(sizes)):
        if not any(pattern):
            continue
        subset = tuple(itertools.compress(panel.modalities, pattern))
        row = sum(itertools.compress(sizes, pattern))
        weights = dict(zip(panel.members_of(subset), panel.weights[subset], strict=True))
        table[row] = [weights.get(names, 0.0) for names in members]
    numbers = [there.cast(np.int64) * size for there, size in zip(is_there, sizes, strict=True)]
    return graph.value(table).take(sum(numbers[1:], numbers[0]), 0)


def _read(panel: Panel, names: Names, whole: dict[str, Sequences]) -> Sequences:
    """What a member reads: one modality as it is, or several side by side on the longest clock."""
    if len(names) == 1:
        return whole[names[0]]
    parts = []
    for name in names:
        scale = panel.members[name,].ridge.inputs[0].scale
        parts.append(whole[name].with_steps(whole[name].steps / scale))
    graph = parts[0].graph
    lengths = graph.op("Max", *(part.lengths for part in parts))
    times = graph.range(graph.op("Max", *(part.steps.size(1) for part in parts)))
    beside = []
    for part in parts:
        places = times * part.lengths.wider(1) // lengths.wider(1)
        beside.append(part.steps.at(places.at_most(part.steps.size(1) - 1)))
    inside = times < lengths.wider(1)
    steps = masked(graph.join(beside, 2), inside)
    return Sequences(steps, lengths, inside, inside, parts[0].is_there)


def _evidence(read: Sequences, member: ModalityExperts) -> Value:
    """What the experts of a member say, in float64."""
    fixed, learned = _ridge(read, member.ridge), _taps(read, member.taps)
    if len(member.ridge.ridge.intercept) == 1:
        return fixed * (1 - member.share) + learned * member.share
    learned = learned * NETWORK_GAIN
    return (fixed * (1 - member.share) + learned * member.share) * (2 * AGREEMENT)


def _scaled(inputs: Inputs, given: Sequences) -> Sequences:
    mean: Value | np.ndarray = inputs.mean
    if inputs.centre:
        total = given.steps.cast(np.float64).sum(1, keep=True)
        mean = (total / given.lengths.cast(np.float64).wider(1, 2)).cast(np.float32)
    return given.with_steps((given.steps - mean) / inputs.scale)


def _ridge(read: Sequences, expert: RidgeExpert) -> Value:
    seen = [_scaled(inputs, read) for inputs in expert.inputs]
    parts = [pattern_shares(bank, s) for bank, s in zip(expert.banks, seen, strict=False)]
    if expert.has_windows:
        parts.append(_window_features(expert.windows, seen[0]))
    if expert.motion_gain:
        change = differences(seen[0].steps) * np.array(expert.motion_gain, np.float32)
        parts.append(_window_features(expert.motion, seen[0].with_steps(change)))
    ridge = expert.ridge
    weights = ridge.weights / np.asarray(ridge.scale, np.float64)[:, None]
    intercept = ridge.intercept - np.asarray(ridge.mean, np.float64) @ weights
    features = read.graph.join(parts, 1).cast(np.float64)
    return features @ weights + np.asarray(intercept, np.float64)


def _window_features(windows: Windows, given: Sequences) -> Value:
    """Mean and maximum of each detector, a width at a time."""
    graph, found = given.graph, []
    times, lengths = places_in(given.steps), given.lengths.wider(1)
    for width, weights, bias in zip(WIDTHS, windows.weights, windows.biases, strict=True):
        places = [(times + shift).wider(0).at_most(lengths - 1) for shift in range(width)]
        rows = graph.join([given.steps.at(place) for place in places], 2)
        count = (lengths - (width - 1)).at_least(1)
        answers = masked((rows @ weights + bias).apply("Relu"), times < count)
        found += [answers.sum(1) / count.cast(np.float32), answers.max(1)]
    return graph.join(found, 1)


def _taps(read: Sequences, expert: TapsExpert) -> Value:
    seen = coarse(_scaled(expert.inputs, read), expert.together)
    said = [_taps_said(seen, expert, network) for network in expert.networks]
    return mean_of(said)


def _taps_said(seen: Sequences, expert: TapsExpert, network: Taps) -> Value:
    outputs = _taps_outputs(seen, network).cast(np.float64)
    if network.outputs > 1:
        return outputs.apply("LogSoftmax", axis=-1)
    return outputs * expert.scale + expert.mean


def _taps_outputs(given: Sequences, network: Taps) -> Value:
    """The outputs of a network."""
    graph, weights = given.graph, network.weights

    def layer(name: str, found: Value) -> Value:
        return linear(found, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def finished(name: str, found: Value, steps: Value | None) -> Value:
        new = normal(found, weights[f"{name}.weight"], weights[f"{name}.bias"])
        return (new if steps is None else steps + new).apply("Relu")

    seen = given.steps
    if network.step_gain:
        change = differences(seen) * np.array(network.step_gain, np.float32)
        seen = masked(graph.join([seen, change], 2), given.inside)
    stem = given.with_steps(finished("norm", layer("stem", _beside(seen, STEM)), None))
    hidden = thinned(stem, network.stride)
    for number in range(network.blocks):
        block, steps = f"blocks.{number}.", hidden.steps
        highest = graph.op("Max", *(moved(steps, offset) for offset in (-1, 0, 1)))
        narrow = masked(layer(f"{block}narrow", steps), hidden.inside)
        far, near = layer(f"{block}far", _beside(narrow, OFFSETS)), layer(f"{block}near", highest)
        hidden = hidden.with_steps(finished(f"{block}norm", graph.join([far, near], 2), steps))
    mean = hidden.steps.sum(1) / hidden.lengths.cast(np.float32).wider(1)
    return layer("read", graph.join([mean, hidden.steps.max(1)], 1))


def _beside(steps: Value, offsets: Int64[np.ndarray, " _"]) -> Value:
    return steps.graph.join([moved(steps, offset) for offset in offsets.tolist()], 2)
