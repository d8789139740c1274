"""The taps network on its way forward, compiled: few clips at a time, from steps to evidence.

All weights are one array; ``starts`` says where its parts begin: weight and bias of the stem, gain
and shift of its norm; for each block the weights ``narrow``, bias of it, ``far``, ``near``, biases
of both, gain and shift of its norm; weight and bias of the read-out. ``turned`` holds matrices once
more, with a line an input, as the way forward reads them: of the stem, then of the blocks.

Rows that others read at offsets are kept apart: between clips and around them are as many rows of
zeros as an offset can reach, so that nobody has to ask where a clip ends.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.loops import dot
from mmalign.align.kernels.tiled import fill_products, once, side_by_side
from mmalign.experts.taps_kernels import (
    fill_highest,
    fill_pooled,
    fill_thinned,
    finish,
    thinned_bounds,
)
from mmalign.experts.taps_products import SPARE, room_for

STEM_PARTS, BLOCK_PARTS = 4, 7
NEVER = np.uint32(0)

TOGETHER = 480
"""Steps that go forward, and back, at once: what they leave stays in the processor's cache."""


@compiled
@no_type_check
def read_clips(seen, bounds, flat, starts, turned, stem, stride, offsets, outputs):
    """Fills ``outputs`` ``[clips, outputs]`` with the evidence of each clip."""
    clips, start = len(bounds) - 1, 0
    seeds = np.zeros((len(starts) - 7) // BLOCK_PARTS, np.uint32)  # nothing is dropped
    while start < clips:
        end = end_of_few(bounds, start)
        fewer, steps = read_few(
            *(seen[bounds[start] : bounds[end]], bounds[start : end + 1] - bounds[start]),
            *(flat, starts, turned, stem, stride, offsets, seeds, NEVER, 1),
        )[:2]
        read_steps(steps[-1], fewer, flat, starts, outputs[start:end])
        start = end


@compiled
@no_type_check
def end_of_few(bounds, start):
    """Up to which clip clips go together from ``start`` on."""
    end = start + 1
    while end < len(bounds) - 1 and bounds[end + 1] - bounds[start] <= TOGETHER:
        end += 1
    return end


@compiled
@no_type_check
def read_few(seen, bounds, flat, starts, turned, stem, stride, offsets, seeds, dropped, kept):
    """Reads a few clips that go together; of blocks, what slopes need is kept of the last ``kept``.

    Gives bounds of the steps that blocks see, and the steps of the stem and of each block; what
    blocks leave behind, as `read_block` takes it; of the stem, what it read, room for its products,
    and its steps with what slopes of its norm need.
    """
    blocks, dim = (len(starts) - 7) // BLOCK_PARTS, starts[2] - starts[1]
    rows = len(seen)
    found, first = room_for(rows, dim), np.empty((rows, dim), np.float32)
    around = np.empty((apart_rows(bounds, stem), seen.shape[1]), np.float32)
    read_stem(seen, bounds, turned, stem, dim, around, found)
    nothing, normal_first = np.zeros((rows, dim), np.float32), np.empty((rows, dim), np.float32)
    scales_first, biases = np.empty(rows, np.float32), vector(flat, starts, 1)
    norm = vector(flat, starts, 2), vector(flat, starts, 3), NEVER, NEVER
    finish(found, found, dim, biases, nothing, *norm, first, normal_first, scales_first)
    fewer = thinned_bounds(bounds, stride)
    steps = np.zeros((blocks + 1, fewer[-1] + SPARE, dim), np.float32)
    fill_thinned(first, bounds, stride, fewer, steps[0])
    apart = np.empty((kept, apart_rows(fewer, offsets), dim // 4), np.float32)
    highest = np.zeros((kept, fewer[-1] + SPARE, dim), np.float32)
    normal = np.empty((kept, fewer[-1], dim), np.float32)
    scales = np.empty((kept, fewer[-1]), np.float32)
    for b in range(blocks):
        n = b % kept
        left = apart[n], highest[n], normal[n], scales[n]
        at = len(stem) * seen.shape[1] * dim + b * block_room(dim, offsets)
        chance = seeds[b], dropped
        read_block(b, steps, fewer, flat, starts, turned, at, offsets, *chance, *left)
    of_stem = around, found, (first, normal_first, scales_first)
    return fewer, steps, (apart, highest, normal, scales), of_stem


@compiled
@no_type_check
def read_steps(steps, bounds, flat, starts, outputs):
    """Fills ``outputs`` with what the read-out makes of the mean and the maximum of the steps."""
    clips, dim, last = len(bounds) - 1, steps.shape[1], len(starts) - 3
    pool, places = np.empty((clips, 2 * dim), np.float32), np.empty((clips, dim), np.int32)
    fill_pooled(steps, bounds, pool, places)
    for clip in range(clips):
        for k in range(outputs.shape[1]):
            line = starts[last] + k * 2 * dim
            said = dot(pool, clip * 2 * dim, flat, line, 2 * dim)
            outputs[clip, k] = said + flat[starts[last + 1] + k]


@compiled
@no_type_check
def block_room(dim, offsets):
    """Numbers of a block's turned weights."""
    narrow = dim // 4
    return 2 * dim * narrow + len(offsets) * narrow * (dim - narrow)


@compiled
@no_type_check
def turned_room(width, dim, blocks, stem, offsets):
    """Numbers of all turned weights."""
    return len(stem) * width * dim + blocks * block_room(dim, offsets)


@compiled
@no_type_check
def turn_weights(flat, starts, width, stem, offsets, turned):
    """Fills ``turned``."""
    blocks, dim = (len(starts) - 7) // BLOCK_PARTS, starts[2] - starts[1]
    narrow, inputs = dim // 4, len(stem) * width
    turn(flat, starts[0], dim, inputs, turned, 0)
    place = inputs * dim
    for b in range(blocks):
        part = STEM_PARTS + b * BLOCK_PARTS
        turn(flat, starts[part], narrow, dim, turned, place)
        place += dim * narrow
        turn(flat, starts[part + 3], narrow, dim, turned, place)
        place += dim * narrow
        turn(flat, starts[part + 2], dim - narrow, len(offsets) * narrow, turned, place)
        place += len(offsets) * narrow * (dim - narrow)


@compiled
@no_type_check
def turn(flat, at, outputs, inputs, turned, place):
    """A line an input from a matrix with a line an output."""
    for k in range(outputs):
        for s in range(inputs):
            turned[place + s * outputs + k] = flat[at + k * inputs + s]


@compiled
@no_type_check
def read_stem(seen, bounds, turned, stem, dim, around, found):
    """Fills ``found`` with the stem's products, ``around`` with the steps that it read, apart."""
    width, vectors = seen.shape[1], side_by_side(dim)
    set_apart(seen, np.zeros(width, np.float32), bounds, stem, around)
    turns = once(len(stem) * width)
    for clip in range(len(bounds) - 1):
        at = (apart_place(bounds, clip, stem) + stem[0]) * width
        length = bounds[clip + 1] - bounds[clip]
        fill_products(
            *(around, at, width, 1, turned, 0, dim, turns, vectors),
            *(found, bounds[clip] * dim, dim, length),
        )


@compiled
@no_type_check
def read_block(
    b, steps, bounds, flat, starts, turned, at, offsets, seed, dropped, apart, highest, normal,
    scales,
):  # fmt: skip
    """Fills the steps of block ``b``, and what its slopes need; its lines begin at ``at``."""
    first, rows, dim = STEM_PARTS + b * BLOCK_PARTS, bounds[-1], steps.shape[2]
    past, narrow = steps[b], dim // 4
    width, every = dim - narrow, once(dim)
    thin, found = side_by_side(narrow), room_for(rows, narrow)
    fill_products(past, 0, dim, 1, turned, at, narrow, every, thin, found, 0, narrow, rows)
    set_apart(found, vector(flat, starts, first + 1), bounds, offsets, apart)
    far, wide = room_for(rows, width), side_by_side(width)
    turns = np.empty((len(offsets), 3), np.int64)
    for n in range(len(offsets)):
        turns[n, 0], turns[n, 1], turns[n, 2] = offsets[n] * narrow, n * narrow * width, narrow
    for clip in range(len(bounds) - 1):
        place, length = apart_place(bounds, clip, offsets), bounds[clip + 1] - bounds[clip]
        fill_products(
            *(apart, place * narrow, narrow, 1, turned, at + 2 * dim * narrow, width, turns, wide),
            *(far, bounds[clip] * width, width, length),
        )
    fill_highest(past, bounds, highest)
    near, place = found, at + dim * narrow
    fill_products(highest, 0, dim, 1, turned, place, narrow, every, thin, near, 0, narrow, rows)
    biases = vector(flat, starts, first + 4)
    gain, shift = vector(flat, starts, first + 5), vector(flat, starts, first + 6)
    norm = gain, shift, seed, dropped
    finish(far, near, width, biases, past, *norm, steps[b + 1], normal, scales)


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


@compiled
@no_type_check
def vector(flat, starts, number):
    """A part of all weights."""
    return flat[starts[number] : starts[number + 1]]


@compiled
@no_type_check
def matrix(flat, starts, number, width):
    """A part of all weights, in rows of ``width``."""
    part = flat[starts[number] : starts[number + 1]]
    return part.reshape((len(part) // width, width))
