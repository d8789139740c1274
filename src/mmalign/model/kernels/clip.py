"""The paper's network, clip by clip: encode, impute, answer, without a call in between.

Hidden sequences are flat, ``wide`` numbers a row, with [CLS] first. Packed weights follow each
other in the order in which they are read; `mmalign.predictor.packing` tells how.
"""

from math import cos, sin
from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import in_vectors, lanes_of
from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.simd import everywhere, load, number_at, plus_product, store, times
from mmalign.model.kernels.batches import starts_of
from mmalign.model.kernels.layers import layer_size, read_itself, read_other
from mmalign.model.kernels.pairs import add_row, impute_rows, plan_room, plan_rows
from mmalign.model.kernels.products import (
    copy_vectors,
    in_tiles,
    linear,
    linear_of_one,
    linear_size,
    normalise,
    tanh_of,
)
from mmalign.model.kernels.training import SPARE


@compiled
@no_type_check
def encode_all(
    features, starts, dim, heads, kernel, layers, is_pre, table, weights, hidden, number
):
    """Fills one modality of ``hidden`` ``[clips, modalities, room]``.

    The steps of clip c begin at ``starts[c]`` of ``features``.
    """
    for clip in range(len(hidden)):
        steps = features[starts[clip] : starts[clip + 1]]
        encode(steps, dim, heads, kernel, layers, is_pre, table, weights, hidden[clip, number])


@compiled
@no_type_check
def impute_all(hidden, source, target, lengths, dim, window, weights, share):
    """Adds a share of what one modality says of another to ``hidden``.

    ``hidden`` is ``[clips, modalities, room]``, ``lengths`` ``[clips, modalities]``. All clips take
    a step of the fitter's recurrence at once.
    """
    clips, modalities, room = hidden.shape
    wide = in_vectors(dim)
    starts, targets = starts_of(lengths[:, source]), starts_of(lengths[:, target])
    given = np.zeros((starts[-1] + SPARE) * wide, np.float32)
    for clip in range(clips):
        rows = (starts[clip + 1] - starts[clip]) * wide
        copy_vectors(hidden, (clip * modalities + source) * room, rows, given, starts[clip] * wide)
    plans = np.empty((starts[-1] + SPARE) * in_vectors(2 * window + 1), np.float32)
    space = np.empty(plan_room(starts, wide), np.float32)
    plan_rows(given, starts, targets, wide, window, weights, space, plans)
    found, totals = np.empty(targets[-1] * wide, np.float32), np.empty(targets[-1], np.float32)
    nothing = np.zeros(wide, np.float32)
    impute_rows(given, starts, targets, plans, window, nothing, wide, totals, found)
    for clip in range(clips):
        rows = (targets[clip + 1] - targets[clip]) * wide
        place = (clip * modalities + target) * room
        add_row(found, targets[clip] * wide, np.float32(share), rows, hidden, place)


@compiled
@no_type_check
def plan_all(steps, lengths, window, weights, plans):
    """Fills ``plans`` ``[clips, time, width]``; zeros outside the band and after a clip.

    ``lengths`` is ``[clips, 2]``: of each clip the steps of source and target.
    """
    clips, _, dim = steps.shape
    wide, line = in_vectors(dim), in_vectors(2 * window + 1)
    starts, targets = starts_of(lengths[:, 0]), starts_of(lengths[:, 1])
    given = np.zeros((starts[-1] + SPARE) * wide, np.float32)
    found = np.empty((starts[-1] + SPARE) * line, np.float32)
    for clip in range(clips):
        for t in range(lengths[clip, 0]):
            for k in range(dim):
                given[(starts[clip] + 1 + t) * wide + k] = steps[clip, t, k]
    space = np.empty(plan_room(starts, wide), np.float32)
    plan_rows(given, starts, targets, wide, window, weights, space, found)
    plans[:] = 0
    for clip in range(clips):
        for t in range(lengths[clip, 0]):
            for k in range(2 * window + 1):
                plans[clip, t, k] = found[(starts[clip] + 1 + t) * line + k]


@compiled
@no_type_check
def answer_all(
    hidden, lengths, readings, dim, heads, layers, is_pre, has_positions, is_pooled, table,
    weights, outputs,
):  # fmt: skip
    """Fills ``outputs`` ``[clips, outputs]``; ``hidden`` is overwritten."""
    for clip in range(len(hidden)):
        answer(
            hidden[clip], lengths[clip], readings, dim, heads, layers, is_pre, has_positions,
            is_pooled, table, weights, outputs[clip],
        )  # fmt: skip


@compiled
@no_type_check
def encode(features, dim, heads, kernel, layers, is_pre, table, weights, hidden):
    """Fills ``hidden`` with [CLS] and a row for each step; a step of NaN is a gap.

    Weights: mean and inverse scale of the features, [CLS], gap, projection, layers, last norm.
    ``table`` holds positions, ``wide`` numbers each.
    """
    time, width = features.shape
    wide, half = in_vectors(dim), kernel // 2
    cls = 2 * width
    gap, project = cls + wide, cls + 2 * wide
    is_known = np.ones(time + 1, np.bool_)
    rows = in_tiles(time)
    given = np.zeros((rows + kernel) * width, np.float32)
    for t in range(time):
        is_known[t + 1] = features[t, 0] == features[t, 0]
        if is_known[t + 1]:
            standardise(features, t * width, width, weights, given, (t + half) * width)
    sequence = np.empty((rows + 8) * wide, np.float32)
    linear(given, 0, width, time, kernel * width, weights, project, dim, sequence, wide)
    copy_vectors(weights, cls, wide, sequence, 0)
    for t in range(1, time + 1):
        if not is_known[t]:
            copy_vectors(weights, gap, wide, sequence, t * wide)
    for k in range((time + 1) * wide):
        sequence[k] += table[k]
    at = project + linear_size(kernel * width, dim)
    for _ in range(layers):
        read_itself(sequence, time + 1, is_known, dim, heads, is_pre, weights, at)
        at += layer_size(dim)
    for k in range((time + 1) * wide):
        hidden[k] = sequence[k]
    for r in range(time + 1 if is_pre else 0):
        normalise(sequence, r * wide, dim, weights, at, hidden, r * wide)


@inlined
@no_type_check
def standardise(features, start, width, weights, given, o):
    """Writes a step less the mean and times the inverse scale; both are the first weights."""
    lanes, minus = lanes_of(given), everywhere(np.float32(-1))
    whole = width // lanes * lanes
    for k in range(0, whole, lanes):
        centred = plus_product(load(features, start + k), load(weights, k), minus)
        store(times(centred, load(weights, width + k)), given, o + k)
    for k in range(whole, width):
        centred = number_at(features, start + k) - number_at(weights, k)
        given[o + k] = centred * number_at(weights, width + k)


@compiled
@no_type_check
def answer(
    hidden, lengths, readings, dim, heads, layers, is_pre, has_positions, is_pooled, table,
    weights, outputs,
):  # fmt: skip
    """Fills ``outputs``: what the network says of hidden sequences ``[modalities, room]``.

    ``readings`` ``[readings, 2]`` tells who reads whom. Weights: of each reading the layers and the
    last norm, then the head. ``hidden`` is overwritten.
    """
    wide, modalities = in_vectors(dim), len(lengths)
    seen = np.zeros(modalities * dim * (3 if is_pooled else 1), np.float32)
    if is_pooled:
        pool(hidden, lengths, dim, seen[modalities * dim :])
    if has_positions:
        for number in range(modalities):
            place(hidden[number], lengths[number], lengths[0], dim, table)
    at, head = 0, np.empty(wide, np.float32)
    others = max(modalities - 1, 1)
    for number in range(len(readings)):
        reader, memory = readings[number]
        head[:] = hidden[reader, :wide]
        count = lengths[memory] + 1
        for _ in range(layers):
            read_other(head, hidden[memory], 0, count, dim, heads, is_pre, weights, at)
            at += layer_size(dim)
        if is_pre:
            normalise(head, 0, dim, weights, at, head, 0)
            at += 2 * wide
        for k in range(dim):
            seen[reader * dim + k] += head[k] / np.float32(others)
    middle = np.empty(wide, np.float32)
    linear_of_one(seen, len(seen), weights, at, dim, middle)
    for k in range(dim):
        middle[k] = tanh_of(middle[k])
    at += linear_size(len(seen), dim)
    said = np.empty(in_vectors(len(outputs)), np.float32)
    linear_of_one(middle, dim, weights, at, len(outputs), said)
    outputs[:] = said[: len(outputs)]


@compiled
@no_type_check
def place(sequence, length, clock, dim, table):
    """Adds positions on a clock to [CLS] and steps (design E16)."""
    wide = in_vectors(dim)
    if length == clock:
        for k in range((length + 1) * wide):
            sequence[k] += table[k]
        return
    for k in range(wide):
        sequence[k] += table[k]
    half, rate = (dim + 1) // 2, clock / length
    for t in range(length):
        position = (t + 0.5) * rate + 0.5
        for k in range(half):
            angle = position * np.exp(k * (-np.log(10000.0) / half))
            sequence[(t + 1) * wide + 2 * k] += np.float32(sin(angle))
            if 2 * k + 1 < dim:
                sequence[(t + 1) * wide + 2 * k + 1] += np.float32(cos(angle))


@compiled
@no_type_check
def pool(hidden, lengths, dim, pooled):
    """Fills ``pooled`` with mean and maximum of the steps of each modality."""
    wide = in_vectors(dim)
    for number in range(len(lengths)):
        mean = pooled[2 * number * dim : (2 * number + 1) * dim]
        highest = pooled[(2 * number + 1) * dim : (2 * number + 2) * dim]
        mean[:] = 0
        highest[:] = -np.inf
        for t in range(1, lengths[number] + 1):
            for k in range(dim):
                mean[k] += hidden[number, t * wide + k]
                highest[k] = max(highest[k], hidden[number, t * wide + k])
        mean /= np.float32(lengths[number])
