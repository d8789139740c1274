"""Transformer layers over the rows of a whole batch, forward and back, without padding.

The rows of all clips follow each other, ``dim`` numbers each, in flat arrays with room for
``SPARE`` rows more; ``dim`` is a multiple of 16. Weights are as torch keeps them, one after the
other: query, key and value, their biases, out, norm, widen, narrow. Slopes are kept the same way.

What a layer writes down lies in one array that its caller gives: memory that was just freed and is
asked for again would have to be cleared by the system, which takes as long as the layer.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.simd import (
    everywhere,
    larger,
    load,
    plus,
    plus_product,
    store,
    sum_of_lanes,
    times,
    transpose,
    where_positive,
)
from mmalign.align.kernels.tiled import (
    LANES,
    TOUCHED,
    fill_products,
    once,
    side_by_side,
    sum_products,
)
from mmalign.model.kernels.attention import attend, attend_back, shares_of
from mmalign.model.kernels.chance import factors_at
from mmalign.model.kernels.products import SLIGHT

SPARE = TOUCHED + 1
"""Rows beyond the last one, which whole tiles may touch."""


@compiled
@no_type_check
def layer_numbers(dim):
    """Weights and biases of a layer."""
    return 12 * dim * dim + 11 * dim


@compiled
@no_type_check
def kept_room(starts, ends, dim, heads):
    """Numbers that a layer keeps for the way back."""
    rows, remembered = starts[-1] + SPARE, ends[-1] + SPARE
    return (9 * rows + 2 * remembered) * dim + rows + shares_of(starts, ends, heads)


@compiled
@no_type_check
def slope_room(starts, ends, dim):
    """Numbers that the way back through a layer needs for a while."""
    return (7 * (starts[-1] + SPARE) + 2 * (ends[-1] + SPARE)) * dim


@inlined
@no_type_check
def kept_parts(kept, starts, ends, dim):
    """What a layer keeps: of all but the last two, as many rows as there are places for."""
    room, both = (starts[-1] + SPARE) * dim, (ends[-1] + SPARE) * 2 * dim
    query, found, attended = kept[:room], kept[room : 2 * room], kept[2 * room : 3 * room]
    normal, added, wide = kept[3 * room : 4 * room], kept[4 * room : 5 * room], kept[5 * room :]
    after = 9 * room
    scales = after + both
    shares = scales + starts[-1] + SPARE
    return query, found, attended, normal, added, wide, kept[after:], kept[scales:], kept[shares:]


@compiled
@no_type_check
def layer_forward(
    x, memory, starts, ends, known, weights, at, dim, heads, seed, dropped, kept, out
):  # fmt: skip
    """Fills ``out`` with rows after one layer that reads the rows of a memory."""
    count, remembered = starts[-1], ends[-1]
    bias, out_at, norm, widen, narrow = weight_places(at, dim)
    query, found, attended, normal, added, wide, both, scales, shares = kept_parts(
        kept, starts, ends, dim
    )
    linear(x, count, dim, weights, at, bias, dim, query)
    linear(memory, remembered, dim, weights, at + dim * dim, bias + dim, 2 * dim, both)
    attend(query, both, starts, ends, known, dim, heads, shares, found)
    linear(found, count, dim, weights, out_at, out_at + dim * dim, dim, attended)
    add_dropped(attended, count * dim, seed, dropped, x, attended)
    normalise_rows(attended, count, dim, weights, norm, normal, scales, out)
    linear(attended, count, dim, weights, widen, widen + 4 * dim * dim, 4 * dim, wide)
    rectify_dropped(wide, count * 4 * dim, seed + np.uint32(1), dropped)
    linear(wide, count, 4 * dim, weights, narrow, narrow + 4 * dim * dim, dim, added)
    add_dropped(added, count * dim, seed + np.uint32(2), dropped, out, out)


@compiled
@no_type_check
def layer_backward(
    slopes, x, memory, starts, ends, kept, weights, at, dim, heads, seed, dropped, space, to_x,
    to_memory, to_weights,
):  # fmt: skip
    """Adds to the slopes of rows, memory and weights; ``slopes`` are overwritten."""
    count, remembered = starts[-1], ends[-1]
    bias, out_at, norm, widen, narrow = weight_places(at, dim)
    query, found, attended, normal, _, wide, both, scales, shares = kept_parts(
        kept, starts, ends, dim
    )
    room = (count + SPARE) * dim
    to_attended, to_found = space[:room], space[room : 2 * room]
    to_query, to_wide, to_both = space[2 * room :], space[3 * room :], space[7 * room :]
    space[: 2 * room] = 0
    to_wide[: 4 * room] = 0
    normalise_back(slopes, count, dim, weights, norm, normal, scales, to_attended, to_weights)
    drop(slopes, count * dim, seed + np.uint32(2), dropped)
    linear_back(
        slopes, wide, count, 4 * dim, weights, narrow, narrow + 4 * dim * dim, dim, to_wide,
        to_weights,
    )  # fmt: skip
    louder = everywhere(np.float32(256) / np.float32(256 - dropped))
    for k in range(0, count * 4 * dim, LANES):
        store(where_positive(load(wide, k), times(load(to_wide, k), louder)), to_wide, k)
    linear_back(
        to_wide, attended, count, dim, weights, widen, widen + 4 * dim * dim, 4 * dim,
        to_attended, to_weights,
    )  # fmt: skip
    for k in range(0, count * dim, LANES):
        store(plus(load(to_x, k), load(to_attended, k)), to_x, k)
    drop(to_attended, count * dim, seed, dropped)
    linear_back(
        to_attended, found, count, dim, weights, out_at, out_at + dim * dim, dim, to_found,
        to_weights,
    )  # fmt: skip
    attend_back(to_found, query, both, starts, ends, dim, heads, shares, to_query, to_both)
    linear_back(to_query, x, count, dim, weights, at, bias, dim, to_x, to_weights)
    linear_back(
        to_both, memory, remembered, dim, weights, at + dim * dim, bias + dim, 2 * dim, to_memory,
        to_weights,
    )  # fmt: skip


@inlined
@no_type_check
def weight_places(at, dim):
    """Where biases of query, key and value, out, norm, widen and narrow begin."""
    bias = at + 3 * dim * dim
    out_at = bias + 3 * dim
    norm = out_at + dim * dim + dim
    widen = norm + 2 * dim
    return bias, out_at, norm, widen, widen + 4 * dim * dim + 4 * dim


@compiled
@no_type_check
def linear(rows, count, inputs, weights, at, bias, outputs, out):
    """Fills ``out``: rows times a matrix of torch's, and its bias."""
    lines = np.empty(inputs * outputs, np.float32)
    turn(weights, at, outputs, inputs, lines)
    sum_products(
        *(rows, 0, inputs, 1, lines, 0, outputs, once(inputs), side_by_side(outputs)),
        *(weights, bias, 0, out, 0, outputs, count),
    )


@compiled
@no_type_check
def turn(weights, at, outputs, inputs, lines):
    """Fills ``lines``, one for each input, from a matrix that has one for each output.

    Whole blocks are turned: the last one may read and write up to 15 inputs too many.
    """
    for i in range(0, inputs, LANES):
        for o in range(0, outputs, LANES):
            transpose(weights, at + o * inputs + i, inputs, lines, i * outputs + o, outputs)


@compiled
@no_type_check
def linear_back(slopes, rows, count, inputs, weights, at, bias, outputs, to_rows, to_weights):
    """Adds to ``to_rows`` and ``to_weights`` what the slopes of ``linear`` say."""
    vectors = side_by_side(inputs)
    sum_products(
        *(slopes, 0, outputs, 1, weights, at, inputs, once(outputs), vectors),
        *(to_rows, 0, inputs, to_rows, 0, inputs, count),
    )
    found = np.empty((outputs + SPARE) * inputs, np.float32)
    fill_products(
        *(slopes, 0, 1, outputs, rows, 0, inputs, once(count), vectors),
        *(found, 0, inputs, outputs),
    )
    for k in range(outputs * inputs):
        to_weights[at + k] += found[k]
    for k in range(0, outputs, LANES):
        total = load(to_weights, bias + k)
        for r in range(count):
            total = plus(total, load(slopes, r * outputs + k))
        store(total, to_weights, bias + k)


@compiled
@no_type_check
def drop(values, count, seed, dropped):
    """``dropped`` of 256 numbers become 0, the others grow, so that the mean stays."""
    if dropped:
        louder = np.float32(256) / np.float32(256 - dropped)
        for k in range(0, count, LANES):
            store(times(load(values, k), factors_at(k, seed, dropped, louder)), values, k)


@compiled
@no_type_check
def add_dropped(values, count, seed, dropped, others, out):
    """Fills ``out`` with what dropout leaves of some values, and with others."""
    louder = np.float32(256) / np.float32(256 - dropped)
    for k in range(0, count, LANES):
        kept = factors_at(k, seed, dropped, louder)
        store(plus_product(load(others, k), load(values, k), kept), out, k)


@compiled
@no_type_check
def rectify_dropped(values, count, seed, dropped):
    """Negative values become 0, and so do those that dropout hits."""
    louder, none = np.float32(256) / np.float32(256 - dropped), everywhere(np.float32(0))
    for k in range(0, count, LANES):
        kept = factors_at(k, seed, dropped, louder)
        store(times(larger(load(values, k), none), kept), values, k)


@compiled
@no_type_check
def normalise_rows(rows, count, dim, weights, at, normal, scales, out):
    """Layer norm of each row; ``normal`` and ``scales`` are kept for the way back."""
    share, none = np.float32(1) / np.float32(dim), everywhere(np.float32(0))
    for r in range(count):
        total = none
        for k in range(r * dim, (r + 1) * dim, LANES):
            total = plus(total, load(rows, k))
        minus_mean, total = everywhere(-sum_of_lanes(total) * share), none
        for k in range(r * dim, (r + 1) * dim, LANES):
            found = plus(load(rows, k), minus_mean)
            total = plus_product(total, found, found)
            store(found, normal, k)
        scales[r] = np.float32(1) / np.sqrt(sum_of_lanes(total) * share + SLIGHT)
        scale = everywhere(scales[r])
        for k in range(0, dim, LANES):
            found = times(load(normal, r * dim + k), scale)
            store(found, normal, r * dim + k)
            gain, shift = load(weights, at + k), load(weights, at + dim + k)
            store(plus_product(shift, found, gain), out, r * dim + k)


@compiled
@no_type_check
def normalise_back(slopes, count, dim, weights, at, normal, scales, to_rows, to_weights):
    """Adds to ``to_rows``, and to the slopes of gain and bias."""
    share, none = np.float32(1) / np.float32(dim), everywhere(np.float32(0))
    for r in range(count):
        place = r * dim
        total = along = none
        for k in range(0, dim, LANES):
            slope, kept = load(slopes, place + k), load(normal, place + k)
            gain, shift = at + k, at + dim + k
            store(plus_product(load(to_weights, gain), slope, kept), to_weights, gain)
            store(plus(load(to_weights, shift), slope), to_weights, shift)
            found = times(slope, load(weights, gain))
            total, along = plus(total, found), plus_product(along, found, kept)
        minus_mean = everywhere(-sum_of_lanes(total) * share)
        minus_along = everywhere(-sum_of_lanes(along) * share)
        scale = everywhere(scales[r])
        for k in range(0, dim, LANES):
            found = times(load(slopes, place + k), load(weights, at + k))
            found = plus_product(found, load(normal, place + k), minus_along)
            found = plus_product(load(to_rows, place + k), plus(found, minus_mean), scale)
            store(found, to_rows, place + k)
