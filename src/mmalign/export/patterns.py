"""Pattern features in a graph, equal to the compiled ones to the last bit.

A share of steps above a threshold is no smooth function of a sequence: an answer that differs in
its last bit can fall on the other side. So sums are taken in the order of the compiled loops.
"""

import numpy as np

from mmalign.experts.layout import TAPS
from mmalign.experts.patterns import KERNELS, Patterns
from mmalign.export.graph import Graph, Value
from mmalign.export.sequences import Sequences


def pattern_shares(bank: Patterns, given: Sequences) -> Value:
    """Shares of steps above each threshold `[batch, features]`, as `Patterns.transform`."""
    graph = given.graph
    channels = given.steps.transpose(0, 2, 1)
    # One channel more, of zeros: what combinations of few channels add.
    channels = channels.padded(1, 0, 1)
    lengths = given.lengths.cast(np.float32).wider(1, 2)
    outside = ~given.inside.wider(1)
    found, order = [], []
    for dilation in np.unique(bank.dilations):
        rows = np.flatnonzero(bank.dilations == dilation)
        signal = _sums(channels, bank.channels[rows])
        answers = _answers(graph, signal, int(dilation), KERNELS[bank.kernels[rows]])
        answers = graph.where(outside, np.float32(-np.inf), answers)
        shares = [_share(answers, level) for level in bank.thresholds[rows].T]
        found.append(graph.join(shares, 2) / lengths)
        order.append(rows)
    together = graph.join(found, 1)
    back = np.argsort(np.concatenate(order), kind="stable")
    return together.take(back, 1).reshape(0, -1)


def _sums(channels: Value, chosen: np.ndarray) -> Value:
    """The sum of the chosen channels of each combination, from the first to the last."""
    nothing = chosen.shape[1]
    most = int(chosen.sum(axis=1).max())
    places = np.full((most, len(chosen)), nothing)
    for number, row in enumerate(chosen):
        picked = np.flatnonzero(row)
        places[: len(picked), number] = picked
    total = channels.take(places[0], 1)
    for place in places[1:]:
        total = total + channels.take(place, 1)
    return total


def _answers(graph: Graph, signal: Value, dilation: int, taps: np.ndarray) -> Value:
    """Each kernel's answer at each step: three times its three taps, less all nine."""
    room = TAPS // 2 * dilation
    time = signal.size(2)
    wide = signal.padded(2, room, room)
    shifted = [wide.slice(2, tap * dilation, time + tap * dilation) for tap in range(TAPS)]
    beside = graph.join(shifted, 1)
    count = np.arange(len(taps))
    first, second, third = (beside.take(taps[:, n] * len(taps) + count, 1) for n in range(3))
    high = (first + second) + third
    left, near, right = ((shifted[n] + shifted[n + 1]) + shifted[n + 2] for n in (0, 3, 6))
    others = near + (left + right)
    # The compiled loops round once, after the difference: so does this, by way of float64.
    return (high.cast(np.float64) * 3.0 - others.cast(np.float64)).cast(np.float32)


def _share(answers: Value, thresholds: np.ndarray) -> Value:
    """How many steps of each combination are above its threshold."""
    above = answers > thresholds[:, None]
    return above.cast(np.float32).sum(2, keep=True)
