"""Slopes of the taps network's weights: a batch forward and back, compiled.

A few clips go all the way before the next ones: what they leave behind stays in the processor's
cache, which a whole batch would not; and from one layer to the next there is no call from Python,
of which each costs some microseconds.

All weights are one array; ``starts`` says where its parts begin: weight and bias of the stem, gain
and shift of its norm; for each block the weights ``narrow``, bias of it, ``far``, ``near``, biases
of both, gain and shift of its norm; weight and bias of the read-out.

Rows of ``narrow`` and of its slopes are kept apart: between clips and around them are as many rows
of zeros as an offset can reach, so that a block reads beyond a clip's ends without asking.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.tiled import fill_products, once, side_by_side
from mmalign.experts.taps_kernels import (
    fill_highest,
    fill_thinned,
    finish,
    finish_backward,
    gather,
    spread_highest,
    spread_thinned,
    thinned_bounds,
)
from mmalign.experts.taps_products import SPARE, add_transposed_product, room_for
from mmalign.experts.taps_read_out import matrix, read_out, vector

STEM_PARTS, BLOCK_PARTS = 4, 7
NEVER = np.uint32(0)

TOGETHER = 480
"""Steps that go forward and back at once."""


@compiled
@no_type_check
def add_slopes(
    seen,
    bounds,
    flat,
    starts,
    stem,
    stride,
    offsets,
    seeds,
    dropped,
    own,
    other,
    share,
    slopes,
):
    """Adds the slopes of the loss, summed over a batch, to ``slopes``.

    Args:
        seen: Steps, with their differences where these are looked at.
        bounds: Where each clip begins; last, where the last one ends.
        flat: All weights.
        starts: Where each part of them begins.
        stem: Where the stem reads.
        stride: Of so many steps of the stem in a row, blocks read the maximum.
        offsets: Where blocks read.
        seeds: What dropout hits, for each clip in each block and, last, in what is read out; in the
            blocks, clips that go together share the first's.
        dropped: How many of 256 numbers it hits in blocks, and in what is read out.
        own: What the outputs should be: shares of the classes, or one number.
        other: The same of the clip that each is mixed with.
        share: Of the clip itself in the mixture.
        slopes: What is added to, as long as ``flat``.
    """
    blocks, dim = seeds.shape[1] - 1, starts[2] - starts[1]
    turned = turned_weights(flat, starts, blocks, dim, len(offsets))
    clips, start = len(bounds) - 1, 0
    while start < clips:
        end, first = start + 1, bounds[start]
        while end < clips and bounds[end + 1] - first <= TOGETHER:
            end += 1
        add_slopes_of_few(
            *(seen[first : bounds[end]], bounds[start : end + 1] - first),
            *(flat, starts, turned, stem, stride, offsets, seeds[start:end], dropped),
            *(own[start:end], other[start:end], share, slopes),
        )
        start = end


@compiled
@no_type_check
def add_slopes_of_few(
    seen,
    bounds,
    flat,
    starts,
    turned,
    stem,
    stride,
    offsets,
    seeds,
    dropped,
    own,
    other,
    share,
    slopes,
):
    """The same for a few clips that go together."""
    rows, blocks, dim = len(seen), seeds.shape[1] - 1, starts[2] - starts[1]
    at_stem = np.empty((rows, seen.shape[1] * len(stem)), np.float32)
    gather(seen, np.zeros(seen.shape[1], np.float32), bounds, stem, at_stem)
    found = np.dot(at_stem, matrix(flat, starts, 0, at_stem.shape[1]).T)
    biases, gain, shift = vector(flat, starts, 1), vector(flat, starts, 2), vector(flat, starts, 3)
    norm = gain, shift, NEVER, NEVER
    first, normal_first = np.empty((rows, dim), np.float32), np.empty((rows, dim), np.float32)
    scales_first = np.empty(rows, np.float32)
    nothing = np.zeros((rows, dim), np.float32)
    finish(found, found, dim, biases, nothing, *norm, first, normal_first, scales_first)
    fewer = thinned_bounds(bounds, stride)
    steps = np.zeros((blocks + 1, fewer[-1] + SPARE, dim), np.float32)  # of the stem, of blocks
    fill_thinned(first, bounds, stride, fewer, steps[0])
    normal = np.empty((blocks, fewer[-1], dim), np.float32)
    scales = np.empty((blocks, fewer[-1]), np.float32)
    highest = np.zeros((blocks, fewer[-1] + SPARE, dim), np.float32)
    apart = np.empty((blocks, apart_rows(fewer, offsets), dim // 4), np.float32)
    for b in range(blocks):
        left = apart[b], highest[b], normal[b], scales[b]
        chance = seeds[0, b], dropped[0]
        read_block(b, steps, fewer, flat, starts, turned, offsets, *chance, *left)
    chance = seeds[:, blocks], dropped[1]
    to_steps = read_out(steps[blocks], fewer, flat, starts, *chance, own, other, share, slopes)
    for b in range(blocks - 1, -1, -1):
        left = apart[b], highest[b], normal[b], scales[b]
        chance = seeds[0, b], dropped[0]
        block_slopes(b, steps, fewer, flat, starts, offsets, *chance, *left, to_steps, slopes)
    to_first = nothing
    spread_thinned(first, bounds, stride, fewer, to_steps, to_first)
    to = vector(slopes, starts, 1), vector(slopes, starts, 2), vector(slopes, starts, 3)
    kept_first = first, normal_first, scales_first
    finish_backward(to_first, *kept_first, gain, NEVER, NEVER, dim, found, found, *to)
    stem_slopes = matrix(slopes, starts, 0, at_stem.shape[1])
    stem_slopes += np.dot(found.T, at_stem)


@compiled
@no_type_check
def turned_weights(flat, starts, blocks, dim, offsets):
    """Weights of the blocks as the way forward reads them: a line an input."""
    narrow = dim // 4
    turned = np.empty((blocks, 2 * dim * narrow + offsets * narrow * (dim - narrow)), np.float32)
    for b in range(blocks):
        part, place = STEM_PARTS + b * BLOCK_PARTS, 0
        for number, inputs in ((part, dim), (part + 3, dim), (part + 2, offsets * narrow)):
            weights = matrix(flat, starts, number, inputs)
            lanes = len(weights)
            for k in range(lanes):
                for s in range(inputs):
                    turned[b, place + s * lanes + k] = weights[k, s]
            place += inputs * lanes
    return turned


@compiled
@no_type_check
def read_block(
    b, steps, bounds, flat, starts, turned, offsets, seed, dropped, apart, highest, normal, scales
):
    """Fills the steps of block ``b``, and what its slopes need."""
    first, rows, dim = STEM_PARTS + b * BLOCK_PARTS, bounds[-1], steps.shape[2]
    past, narrow, weights = steps[b], dim // 4, turned[b]
    width, every = dim - narrow, once(dim)
    thin, found = side_by_side(narrow), room_for(rows, narrow)
    fill_products(past, 0, dim, 1, weights, 0, narrow, every, thin, found, 0, narrow, rows)
    set_apart(found, vector(flat, starts, first + 1), bounds, offsets, apart)
    far, wide = room_for(rows, width), side_by_side(width)
    turns = np.empty((len(offsets), 3), np.int64)
    for n in range(len(offsets)):
        turns[n, 0], turns[n, 1], turns[n, 2] = offsets[n] * narrow, n * narrow * width, narrow
    for clip in range(len(bounds) - 1):
        at, length = apart_place(bounds, clip, offsets), bounds[clip + 1] - bounds[clip]
        fill_products(
            *(apart, at * narrow, narrow, 1, weights, 2 * dim * narrow, width, turns, wide),
            *(far, bounds[clip] * width, width, length),
        )
    fill_highest(past, bounds, highest)
    near, place = found, dim * narrow
    fill_products(highest, 0, dim, 1, weights, place, narrow, every, thin, near, 0, narrow, rows)
    biases = vector(flat, starts, first + 4)
    gain, shift = vector(flat, starts, first + 5), vector(flat, starts, first + 6)
    norm = gain, shift, seed, dropped
    finish(far, near, width, biases, past, *norm, steps[b + 1], normal, scales)


@compiled
@no_type_check
def block_slopes(
    b,
    steps,
    bounds,
    flat,
    starts,
    offsets,
    seed,
    dropped,
    apart,
    highest,
    normal,
    scales,
    to_steps,
    slopes,
):
    """Adds the slopes of a block's weights; ``to_steps`` become those of the steps it read."""
    first, rows, dim = STEM_PARTS + b * BLOCK_PARTS, bounds[-1], steps.shape[2]
    past, narrow = steps[b], dim // 4
    to_far, to_near = room_for(rows, dim - narrow), room_for(rows, narrow)
    to_biases = vector(slopes, starts, first + 4)
    to_norm = vector(slopes, starts, first + 5), vector(slopes, starts, first + 6)
    finish_backward(
        *(to_steps, steps[b + 1], normal, scales),
        *(vector(flat, starts, first + 5), seed, dropped, dim - narrow),
        *(to_far, to_near, to_biases, *to_norm),
    )
    each, whole, few = once(rows), side_by_side(dim), once(narrow)
    place = starts[first + 3]
    add_transposed_product(to_near, highest, each, whole, narrow, slopes, place)
    to_highest, more = room_for(rows, dim), room_for(rows, dim)
    fill_products(to_near, 0, narrow, 1, flat, place, dim, few, whole, to_highest, 0, dim, rows)
    to_narrow = to_near  # as wide, and not needed any more
    place = starts[first + 2]
    add_far_slopes(to_far, apart, bounds, flat, place, offsets, narrow, to_narrow, slopes)
    to_bias = vector(slopes, starts, first + 1)
    for t in range(rows):
        for k in range(narrow):
            to_bias[k] += to_narrow[t, k]
    place = starts[first]
    add_transposed_product(to_narrow, past, each, whole, narrow, slopes, place)
    fill_products(to_narrow, 0, narrow, 1, flat, place, dim, few, whole, more, 0, dim, rows)
    spread_highest(past, bounds, to_highest, more, to_steps)


@compiled
@no_type_check
def add_far_slopes(to_far, apart, bounds, flat, place, offsets, narrow, to_narrow, slopes):
    """Adds the slopes of the weights ``far``, at ``place``; fills those of what they read."""
    width, line, thin = to_far.shape[1], len(offsets) * narrow, side_by_side(narrow)
    to_apart = np.empty((len(apart), width), np.float32)
    set_apart(to_far, np.zeros(width, np.float32), bounds, offsets, to_apart)
    clips = len(bounds) - 1
    turns, back = np.empty((clips, 3), np.int64), np.empty((len(offsets), 3), np.int64)
    windows = side_by_side(line)
    for n in range(len(offsets)):
        back[n, 0], back[n, 1], back[n, 2] = -offsets[n] * width, n * narrow, width
        # The numbers of an offset lie in the weights where they would in a window written out.
        windows[n * len(thin) : (n + 1) * len(thin), 0] = offsets[n] * narrow + thin[:, 0]
    for clip in range(clips):
        at, length = apart_place(bounds, clip, offsets), bounds[clip + 1] - bounds[clip]
        turns[clip, 0], turns[clip, 1], turns[clip, 2] = at * width, at * narrow, length
        fill_products(
            *(to_apart, at * width, width, 1, flat, place, line, back, thin),
            *(to_narrow, bounds[clip] * narrow, narrow, length),
        )
    add_transposed_product(to_apart, apart, turns, windows, width, slopes, place)


@compiled
@no_type_check
def apart_place(bounds, clip, offsets):
    """Where a clip begins if clips are kept apart."""
    return bounds[clip] + (clip + 1) * offsets[-1]


@compiled
@no_type_check
def apart_rows(bounds, offsets):
    """Rows of clips that are kept apart."""
    return bounds[-1] + len(bounds) * offsets[-1] + SPARE


@compiled
@no_type_check
def set_apart(steps, bias, bounds, offsets, apart):
    """Fills ``apart`` with steps + bias, and with zeros between the clips."""
    place = 0
    for clip in range(len(bounds) - 1):
        at = apart_place(bounds, clip, offsets)
        apart[place:at] = 0
        for t in range(bounds[clip], bounds[clip + 1]):
            for k in range(len(bias)):
                apart[at, k] = steps[t, k] + bias[k]
            at += 1
        place = at
    apart[place:] = 0
