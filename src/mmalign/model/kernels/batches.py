"""A batch on its way into an encoder or a direction of the fusion, and back.

Layers work on the rows of all clips (:mod:`mmalign.model.kernels.training`); here they are made of
features and hidden sequences, and given back as these. Weights of an encoder: convolution, its
bias, [CLS], gap, layers.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.simd import load, plus, store, transpose
from mmalign.align.kernels.tiled import LANES, once, side_by_side, sum_products
from mmalign.model.kernels.training import (
    SPARE,
    drop,
    kept_room,
    layer_backward,
    layer_forward,
    layer_numbers,
    slope_room,
    turn,
)

__all__ = ["kept_room", "layer_backward", "layer_forward", "layer_numbers", "slope_room"]

NONE = np.float32(0)
TOGETHER = 128
"""Steps whose slopes are multiplied at once."""


@compiled
@no_type_check
def starts_of(lengths):
    """Where the rows of each clip begin, [CLS] first."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    for clip in range(len(lengths)):
        starts[clip + 1] = starts[clip] + lengths[clip] + 1
    return starts


@compiled
@no_type_check
def rows_room(starts, dim):
    """Numbers of all rows, and of those beyond that whole tiles may touch."""
    return (starts[-1] + SPARE) * dim


@compiled
@no_type_check
def given_room(starts, kernel, width):
    """Numbers of `lay_out`."""
    return (steps_apart(starts, kernel) + kernel + SPARE) * width


@compiled
@no_type_check
def begin_room(starts, kernel, width, dim):
    """Numbers that `begin` and `begin_back` need for a while."""
    return (steps_apart(starts, kernel) + kernel * (width + SPARE) + SPARE + LANES) * dim


@inlined
@no_type_check
def steps_apart(starts, kernel):
    """Steps of all clips, and between them."""
    clips = len(starts) - 1
    return starts[clips] - clips + clips * (kernel // 2)


@compiled
@no_type_check
def lay_out(features, starts, known, mean, inverse, kernel, is_known, given):
    """Fills ``given`` with the scaled features of all clips, one after the other.

    Between two clips there are as many steps of zeros as the convolution looks around, and zeros
    stand in gaps. ``is_known`` tells which rows of [CLS] and steps are no gaps; without numbers in
    ``known``, all of them.
    """
    batch, _, width = features.shape
    half, place = kernel // 2, 0
    for clip in range(batch):
        given[place : place + half * width] = 0
        place += half * width
        is_known[starts[clip]] = True
        for t in range(starts[clip + 1] - starts[clip] - 1):
            is_there = known.size == 0 or known[clip, t]
            is_known[starts[clip] + 1 + t] = is_there
            if is_there:
                for k in range(width):
                    given[place + k] = (features[clip, t, k] - mean[k]) * inverse[k]
            else:
                given[place : place + width] = 0
            place += width
    given[place:] = 0


@compiled
@no_type_check
def begin(given, starts, is_known, kernel, weights, table, dim, seed, dropped, space, x):
    """Fills ``x``: [CLS] and projected steps of all clips with their positions."""
    flat, half = steps_apart(starts, kernel), kernel // 2
    width = len(given) // (flat + kernel + SPARE)
    window = kernel * width
    projected, lines = space[: (flat + SPARE) * dim], space[(flat + SPARE) * dim :]
    turn(weights, 0, dim, window, lines)
    bias = window * dim
    cls, gap = bias + dim, bias + 2 * dim
    turns = np.empty((kernel, 3), np.int64)
    for k in range(kernel):
        turns[k, 0], turns[k, 1], turns[k, 2] = k * width, k * dim, width
    sum_products(
        *(given, 0, width, 1, lines, 0, kernel * dim, turns, side_by_side(dim)),
        *(weights, bias, 0, projected, 0, dim, flat),
    )
    place = 0
    for clip in range(len(starts) - 1):
        row = starts[clip]
        for k in range(dim):
            x[row * dim + k] = weights[cls + k] + table[k]
        for t in range(1, starts[clip + 1] - row):
            for k in range(dim):
                one = projected[place + k] if is_known[row + t] else weights[gap + k]
                x[(row + t) * dim + k] = one + table[t * dim + k]
            place += dim
        place += half * dim
    drop(x, starts[-1] * dim, seed, dropped)


@compiled
@no_type_check
def begin_back(to_x, given, starts, is_known, kernel, dim, seed, dropped, space, to_weights):
    """Adds the slopes of convolution, bias, [CLS] and gap; ``to_x`` is overwritten."""
    flat, half = steps_apart(starts, kernel), kernel // 2
    width = len(given) // (flat + kernel + SPARE)
    window = kernel * width
    drop(to_x, starts[-1] * dim, seed, dropped)
    slopes, lines = space[: (flat + SPARE) * dim], space[(flat + SPARE) * dim :]
    bias, place = window * dim, 0
    cls, gap = bias + dim, bias + 2 * dim
    for clip in range(len(starts) - 1):
        row = starts[clip]
        for k in range(dim):
            to_weights[cls + k] += to_x[row * dim + k]
        for t in range(row + 1, starts[clip + 1]):
            for k in range(dim):
                slope = to_x[t * dim + k]
                slopes[place + k] = slope if is_known[t] else NONE
                to_weights[bias + k] += slopes[place + k]
                to_weights[gap + k] += slope - slopes[place + k]
            place += dim
        slopes[place : place + half * dim] = 0
        place += half * dim
    fill_line_slopes(given, slopes, flat, kernel, width, dim, lines)
    add_turned(lines, dim, window, to_weights)


@compiled
@no_type_check
def fill_line_slopes(given, slopes, flat, kernel, width, dim, lines):
    """Fills ``lines`` with slopes of the convolution, one line for each feature of each step.

    A few steps at a time, of which the features and the slopes stay in the nearest cache.
    """
    vectors, wide = side_by_side(dim), kernel * dim
    lines[: kernel * width * dim] = 0
    for first in range(0, flat, TOGETHER):
        turns = once(min(TOGETHER, flat - first))
        for k in range(kernel):
            sum_products(
                *(given, (first + k) * width, 1, width, slopes, first * dim, dim, turns, vectors),
                *(lines, k * dim, wide, lines, k * dim, wide, width),
            )
    lines[kernel * width * dim :] = 0


@compiled
@no_type_check
def add_turned(lines, outputs, inputs, to_weights):
    """Adds lines for each input to a matrix that has one for each output."""
    block = np.empty(LANES * LANES, np.float32)
    for o in range(0, outputs, LANES):
        for i in range(0, inputs, LANES):
            transpose(lines, i * outputs + o, outputs, block, 0, LANES)
            for r in range(LANES):
                place = (o + r) * inputs + i
                store(plus(load(to_weights, place), load(block, r * LANES)), to_weights, place)


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
    starts = starts_of(lengths)
    x = np.zeros(rows_room(starts, dim), np.float32)
    for clip in range(len(head)):
        row, place = starts[clip] * dim, clip * jump
        for k in range(dim):
            x[row + k] = head[clip, k] + places[place + k]
        for t in range(lengths[clip]):
            row += dim
            place += dim
            for k in range(dim):
                x[row + k] = steps[clip, t, k] + places[place + k]
    return x, starts
