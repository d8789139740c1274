"""A batch on its way through an encoder or a direction of the fusion, and back.

Layers work on the rows of all clips (:mod:`mmalign.model.kernels.training`); here they are made of
features and hidden sequences, and given back as these. Weights of an encoder: convolution, its
bias, [CLS], gap, layers.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import in_vectors
from mmalign.align.kernels.jit import compiled
from mmalign.model.kernels.products import rectify
from mmalign.model.kernels.training import (
    NONE,
    SPARE,
    attend,
    attend_back,
    drop,
    layer_numbers,
    linear,
    linear_back,
    multiply,
    normalise_back,
    normalise_rows,
)

__all__ = ["layer_numbers"]


@compiled
@no_type_check
def layer_forward(
    x, count, memory, remembered, starts, ends, known, weights, at, dim, heads, seed, dropped
):  # fmt: skip
    """Rows after one layer that reads the rows of a memory, and what the way back needs."""
    bias = at + 3 * dim * dim
    out_at = bias + 3 * dim
    norm = out_at + dim * dim + dim
    widen = norm + 2 * dim
    narrow = widen + 4 * dim * dim + 4 * dim
    room = (count + SPARE) * dim
    query, found = np.empty(room, np.float32), np.empty(room, np.float32)
    both = np.empty((remembered + SPARE) * 2 * dim, np.float32)
    linear(x, count, dim, weights, at, bias, dim, query)
    linear(memory, remembered, dim, weights, at + dim * dim, bias + dim, 2 * dim, both)
    needed = 0
    for clip in range(len(starts) - 1):
        queries = starts[clip + 1] - starts[clip]
        needed += queries * heads * in_vectors(ends[clip + 1] - ends[clip])
    shares = np.empty(needed, np.float32)
    attend(query, both, starts, ends, known, dim, heads, shares, found)
    attended, normal, out = (
        np.empty(room, np.float32), np.empty(room, np.float32), np.empty(room, np.float32)
    )  # fmt: skip
    linear(found, count, dim, weights, out_at, out_at + dim * dim, dim, attended)
    drop(attended, count * dim, seed, dropped)
    for k in range(count * dim):
        attended[k] += x[k]
    scales = np.empty(count, np.float32)
    normalise_rows(attended, count, dim, weights, norm, normal, scales, out)
    wide = np.empty(4 * room, np.float32)
    linear(attended, count, dim, weights, widen, widen + 4 * dim * dim, 4 * dim, wide)
    rectify(wide, 0, count * 4 * dim)
    drop(wide, count * 4 * dim, seed + np.uint32(1), dropped)
    added = np.empty(room, np.float32)
    linear(wide, count, 4 * dim, weights, narrow, narrow + 4 * dim * dim, dim, added)
    drop(added, count * dim, seed + np.uint32(2), dropped)
    for k in range(count * dim):
        out[k] += added[k]
    return out, (query, both, shares, found, attended, normal, scales, wide)


@compiled
@no_type_check
def layer_backward(
    slopes, x, count, memory, remembered, starts, ends, kept, weights, at, dim, heads, seed,
    dropped, to_x, to_memory, to_weights,
):  # fmt: skip
    """Adds to the slopes of rows, memory and weights; ``slopes`` are overwritten."""
    query, both, shares, found, attended, normal, scales, wide = kept
    bias = at + 3 * dim * dim
    out_at = bias + 3 * dim
    norm = out_at + dim * dim + dim
    widen = norm + 2 * dim
    narrow = widen + 4 * dim * dim + 4 * dim
    room = (count + SPARE) * dim
    to_attended, to_wide = np.zeros(room, np.float32), np.zeros(4 * room, np.float32)
    normalise_back(slopes, count, dim, weights, norm, normal, scales, to_attended, to_weights)
    drop(slopes, count * dim, seed + np.uint32(2), dropped)
    linear_back(
        slopes, wide, count, 4 * dim, weights, narrow, narrow + 4 * dim * dim, dim, to_wide,
        to_weights,
    )  # fmt: skip
    louder = np.float32(256) / np.float32(256 - dropped)
    for k in range(count * 4 * dim):
        to_wide[k] = to_wide[k] * louder if wide[k] > NONE else NONE
    linear_back(
        to_wide, attended, count, dim, weights, widen, widen + 4 * dim * dim, 4 * dim,
        to_attended, to_weights,
    )  # fmt: skip
    for k in range(count * dim):
        to_x[k] += to_attended[k]
    drop(to_attended, count * dim, seed, dropped)
    to_found, to_query = np.zeros(room, np.float32), np.zeros(room, np.float32)
    linear_back(
        to_attended, found, count, dim, weights, out_at, out_at + dim * dim, dim, to_found,
        to_weights,
    )  # fmt: skip
    to_both = np.zeros((remembered + SPARE) * 2 * dim, np.float32)
    attend_back(to_found, query, both, starts, ends, dim, heads, shares, to_query, to_both)
    linear_back(to_query, x, count, dim, weights, at, bias, dim, to_x, to_weights)
    linear_back(
        to_both, memory, remembered, dim, weights, at + dim * dim, bias + dim, 2 * dim, to_memory,
        to_weights,
    )  # fmt: skip


@compiled
@no_type_check
def begin(features, lengths, known, kernel, weights, table, dim, seed, dropped):
    """[CLS] and projected steps of all clips with their positions, and what the way back needs.

    ``given`` holds the features of all clips one after the other, with as many steps of zeros
    between two clips as the convolution looks around.
    """
    batch, _, width = features.shape
    half, window = kernel // 2, kernel * width
    starts = np.zeros(batch + 1, np.int64)
    for clip in range(batch):
        starts[clip + 1] = starts[clip] + lengths[clip] + 1
    rows = starts[batch]
    flat = rows - batch + batch * half
    given = np.zeros((flat + kernel + SPARE) * width, np.float32)
    is_known = np.ones(rows, np.bool_)
    place = half
    for clip in range(batch):
        for t in range(lengths[clip]):
            is_known[starts[clip] + 1 + t] = known[clip, t]
            if known[clip, t]:
                start = (place + t) * width
                for k in range(width):
                    given[start + k] = features[clip, t, k]
        place += lengths[clip] + half
    lines = np.empty(window * dim, np.float32)
    for o in range(dim):
        for f in range(width):
            for k in range(kernel):
                lines[(k * width + f) * dim + o] = weights[(o * width + f) * kernel + k]
    bias = window * dim
    cls, gap = bias + dim, bias + 2 * dim
    projected = np.empty((flat + SPARE) * dim, np.float32)
    multiply(
        given, 0, width, 1, flat, window, lines, 0, dim, dim, weights, bias, 0, projected, 0, dim
    )
    x, place = np.empty((rows + SPARE) * dim, np.float32), 0
    for clip in range(batch):
        row = starts[clip] * dim
        for k in range(dim):
            x[row + k] = weights[cls + k] + table[k]
        for t in range(lengths[clip]):
            row += dim
            for k in range(dim):
                one = projected[(place + t) * dim + k] if known[clip, t] else weights[gap + k]
                x[row + k] = one + table[(t + 1) * dim + k]
        place += lengths[clip] + half
    drop(x, rows * dim, seed, dropped)
    return x, starts, is_known, given


@compiled
@no_type_check
def begin_back(to_x, given, starts, is_known, kernel, width, dim, seed, dropped, to_weights):
    """Adds the slopes of convolution, bias, [CLS] and gap; ``to_x`` is overwritten."""
    batch = len(starts) - 1
    rows, half, window = starts[batch], kernel // 2, kernel * width
    flat = rows - batch + batch * half
    drop(to_x, rows * dim, seed, dropped)
    slopes, place = np.zeros((flat + SPARE) * dim, np.float32), 0
    bias = window * dim
    cls, gap = bias + dim, bias + 2 * dim
    for clip in range(batch):
        length = starts[clip + 1] - starts[clip] - 1
        for k in range(dim):
            to_weights[cls + k] += to_x[starts[clip] * dim + k]
        for t in range(length):
            row = (starts[clip] + 1 + t) * dim
            if is_known[starts[clip] + 1 + t]:
                for k in range(dim):
                    slopes[(place + t) * dim + k] = to_x[row + k]
                    to_weights[bias + k] += to_x[row + k]
            else:
                for k in range(dim):
                    to_weights[gap + k] += to_x[row + k]
        place += length + half
    lines = np.zeros((window + SPARE) * dim, np.float32)
    multiply(given, 0, 1, width, window, flat, slopes, 0, dim, dim, lines, 0, dim, lines, 0, dim)
    for o in range(dim):
        for f in range(width):
            for k in range(kernel):
                to_weights[(o * width + f) * kernel + k] += lines[(k * width + f) * dim + o]


@compiled
@no_type_check
def to_hidden(x, starts, dim, head, steps):
    """Fills ``head`` ``[batch, dim]`` and ``steps`` ``[batch, time, dim]``; zeros after a clip."""
    for clip in range(len(head)):
        row, length = starts[clip] * dim, starts[clip + 1] - starts[clip] - 1
        for k in range(dim):
            head[clip, k] = x[row + k]
        for t in range(length):
            row += dim
            for k in range(dim):
                steps[clip, t, k] = x[row + k]
        steps[clip, length:] = 0


@compiled
@no_type_check
def to_rows(head, steps, lengths, places, jump, dim):
    """Rows of [CLS] and steps, with positions that are ``jump`` numbers further on in each clip."""
    batch = len(head)
    starts = np.zeros(batch + 1, np.int64)
    for clip in range(batch):
        starts[clip + 1] = starts[clip] + lengths[clip] + 1
    x = np.zeros((starts[batch] + SPARE) * dim, np.float32)
    for clip in range(batch):
        row, place = starts[clip] * dim, clip * jump
        for k in range(dim):
            x[row + k] = head[clip, k] + places[place + k]
        for t in range(lengths[clip]):
            row += dim
            place += dim
            for k in range(dim):
                x[row + k] = steps[clip, t, k] + places[place + k]
    return x, starts
