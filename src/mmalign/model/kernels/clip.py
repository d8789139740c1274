"""The paper's network, clip by clip: encode, impute, answer, without a call in between.

Hidden sequences are flat, ``wide`` numbers a row, with [CLS] first. Packed weights follow each
other in the order in which they are read; `mmalign.model.packing` tells how.
"""

from math import cos, sin
from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import in_vectors
from mmalign.align.kernels.carry import ends_of_rows, sum_columns
from mmalign.align.kernels.exponential import short_exponential
from mmalign.align.kernels.jit import compiled
from mmalign.model.kernels.layers import layer_size, read_itself, read_other
from mmalign.model.kernels.products import (
    in_tiles,
    linear,
    linear_of_one,
    linear_size,
    normalise,
    tanh_of,
)


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

    ``hidden`` is ``[clips, modalities, room]``, ``lengths`` ``[clips, modalities]``.
    """
    wide = in_vectors(dim)
    for clip in range(len(hidden)):
        time, target_time = lengths[clip, source], lengths[clip, target]
        stand_in = np.empty((target_time, wide), np.float32)
        impute(hidden[clip, source], time, target_time, dim, window, weights, stand_in)
        for j in range(target_time):
            for k in range(wide):
                hidden[clip, target, (j + 1) * wide + k] += share * stand_in[j, k]


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
            start = (t + half) * width
            for k in range(width):
                given[start + k] = (features[t, k] - weights[k]) * weights[width + k]
    sequence = np.empty((rows + 8) * wide, np.float32)
    linear(given, 0, width, time, kernel * width, weights, project, dim, sequence, wide)
    sequence[:wide] = weights[cls:gap]
    for t in range(1, time + 1):
        if not is_known[t]:
            sequence[t * wide : (t + 1) * wide] = weights[gap:project]
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


@compiled
@no_type_check
def impute(hidden, time, target_time, dim, window, weights, stand_in):
    """Fills ``stand_in`` ``[target time, wide]``: steps carried through the fitter's plan."""
    wide = in_vectors(dim)
    first, start = np.empty(time, np.int64), np.empty(time, np.int64)
    stop = np.empty(time, np.int64)
    ends_of_rows(time, target_time, window, first, start, stop)
    plan = np.zeros((time, 2 * window + 1), np.float32)
    fill_plan(hidden, time, dim, window, weights, start, stop, plan)
    totals = np.zeros(target_time, np.float32)
    for i in range(time):
        for k in range(start[i], stop[i]):
            totals[first[i] + k - window] += plan[i, k]
    stand_in[:] = 0
    steps = np.empty((time, wide), np.float32)  # a view would need Numba to run
    for t in range(time):
        for k in range(wide):
            steps[t, k] = hidden[(t + 1) * wide + k]
    sum_columns(plan, steps, time, target_time, first, start, stop, stand_in)
    for j in range(target_time):
        is_empty = totals[j] < np.finfo(np.float32).tiny
        share = np.float32(0) if is_empty else np.float32(1) / totals[j]
        for k in range(wide):
            stand_in[j, k] *= share


@compiled
@no_type_check
def fill_plan(hidden, time, dim, window, weights, start, stop, plan):
    """Fills ``plan`` ``[time, width]`` inside the band: what the fitter says of a clip.

    Weights: of each direction the input and the recurrent part of a GRU, then the projection.
    """
    wide, rows = in_vectors(dim), in_tiles(time)
    gates, both = in_vectors(3 * dim), in_vectors(2 * dim)
    given, states = np.empty(rows * gates, np.float32), np.zeros(rows * both, np.float32)
    at = 0
    for direction in range(2):
        linear(hidden, wide, wide, time, dim, weights, at, 3 * dim, given, 0)
        at += linear_size(dim, 3 * dim)
        recur(given, time, dim, direction == 1, weights, at, states)
        at += linear_size(dim, 3 * dim)
    width = 2 * window + 1
    line = in_vectors(width)
    logits, powers = np.empty(rows * line, np.float32), np.empty(line, np.float32)
    linear(states, 0, both, time, 2 * dim, weights, at, width, logits, 0)
    for i in range(time):
        share_out(logits, i * line, start[i], stop[i], powers, plan[i])


@compiled
@no_type_check
def plan_all(steps, lengths, target_lengths, window, weights, plans):
    """Fills ``plans`` ``[clips, time, width]``; zeros outside the band and after a clip."""
    clips, time, dim = steps.shape
    wide = in_vectors(dim)
    hidden = np.zeros((in_tiles(time) + 1) * wide, np.float32)
    first, start = np.empty(time, np.int64), np.empty(time, np.int64)
    stop = np.empty(time, np.int64)
    plans[:] = 0
    for clip in range(clips):
        length = lengths[clip]
        for t in range(length):
            for k in range(dim):
                hidden[(t + 1) * wide + k] = steps[clip, t, k]
        ends_of_rows(length, target_lengths[clip], window, first, start, stop)
        fill_plan(hidden, length, dim, window, weights, start, stop, plans[clip])


@compiled
@no_type_check
def share_out(logits, at, start, stop, powers, shares):
    """Softmax over the entries ``start .. stop - 1`` of a row."""
    highest = logits[at + start]
    for k in range(start, stop):
        highest = max(highest, logits[at + k])
    count = stop - start
    for k in range(count):
        powers[k] = logits[at + start + k] - highest
    short_exponential(powers, count)
    total = np.float32(0)
    for k in range(count):
        total += powers[k]
    for k in range(count):
        shares[start + k] = powers[k] / total


@compiled
@no_type_check
def recur(given, time, dim, is_back, weights, at, states):
    """Writes the states of a GRU into its half of ``states``, forwards or backwards in time.

    ``given`` has a row of what each step adds to the gates r, z and n.
    """
    gates, both = in_vectors(3 * dim), in_vectors(2 * dim)
    sums, opened = np.empty(gates, np.float32), np.empty(2 * dim, np.float32)
    state, new = np.zeros(dim, np.float32), np.empty(dim, np.float32)
    start, a_half = dim if is_back else 0, np.float32(0.5)
    for step in range(time):
        t = time - 1 - step if is_back else step
        row = t * gates
        linear_of_one(state, 0, dim, weights, at, 3 * dim, sums, 0)
        for k in range(2 * dim):  # the sigmoid as a hyperbolic tangent
            opened[k] = a_half + a_half * tanh_of(a_half * (given[row + k] + sums[k]))
        for k in range(dim):
            new[k] = tanh_of(given[row + 2 * dim + k] + opened[k] * sums[2 * dim + k])
        for k in range(dim):
            state[k] = new[k] + opened[dim + k] * (state[k] - new[k])
        for k in range(dim):
            states[t * both + start + k] = state[k]


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
    linear_of_one(seen, 0, len(seen), weights, at, dim, middle, 0)
    for k in range(dim):
        middle[k] = tanh_of(middle[k])
    at += linear_size(len(seen), dim)
    said = np.empty(in_vectors(len(outputs)), np.float32)
    linear_of_one(middle, 0, dim, weights, at, len(outputs), said, 0)
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
