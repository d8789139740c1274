"""Slopes of the taps network's weights: the way forward and back for a few clips, compiled.

What a few clips leave behind stays in the processor's cache, which a whole batch would not; and
from one layer to the next there is no call from Python, of which each costs some microseconds.

All weights are one array; ``starts`` says where its parts begin: weight and bias of the stem, gain
and shift of its norm; for each block the weights ``narrow``, bias of it, ``far``, ``near``, biases
of both, gain and shift of its norm; weight and bias of the read-out.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled
from mmalign.experts.taps_kernels import (
    fill_highest,
    fill_pooled,
    finish,
    finish_backward,
    gather,
    scatter,
    spread_highest,
    spread_pooled,
)

STEM_PARTS, BLOCK_PARTS = 4, 7
NEVER = np.uint32(0)


@compiled
@no_type_check
def add_slopes(
    seen, bounds, flat, starts, stem, offsets, seeds, dropped, kept, own, other, share, slopes
):
    """Adds the slopes of the loss, summed over a few clips, to ``slopes``.

    Args:
        seen: Steps, with their differences where these are looked at.
        bounds: Where each clip begins; last, where the last one ends.
        flat: All weights.
        starts: Where each part of them begins.
        stem: Where the stem reads.
        offsets: Where blocks read.
        seeds: What dropout hits in each block.
        dropped: How many of 256 numbers it hits.
        kept: What pooled steps are multiplied by: dropout before the read-out.
        own: What the outputs should be: shares of the classes, or one number.
        other: The same of the clip that each is mixed with.
        share: Of the clip itself in the mixture.
        slopes: What is added to, as long as ``flat``.
    """
    rows, blocks, dim = len(seen), len(seeds), starts[2] - starts[1]
    steps = np.zeros((blocks + 2, rows, dim), np.float32)  # nothing, of the stem, of the blocks
    normal = np.empty((blocks + 1, rows, dim), np.float32)
    scales = np.empty((blocks + 1, rows), np.float32)
    highest = np.empty((blocks, rows, dim), np.float32)
    beside = np.empty((blocks, rows, dim // 4 * len(offsets)), np.float32)
    at_stem = np.empty((rows, seen.shape[1] * len(stem)), np.float32)
    gather(seen, np.zeros(seen.shape[1], np.float32), bounds, stem, at_stem)
    found = np.dot(at_stem, matrix(flat, starts, 0, at_stem.shape[1]).T)
    biases, gain, shift = vector(flat, starts, 1), vector(flat, starts, 2), vector(flat, starts, 3)
    none = np.empty((rows, 0), np.float32)
    norm = gain, shift, NEVER, NEVER
    finish(found, none, biases, steps[0], *norm, steps[1], normal[0], scales[0])
    for b in range(blocks):
        gathered = beside[b], highest[b], normal[b + 1], scales[b + 1]
        read_block(b, steps, bounds, flat, starts, offsets, seeds[b], dropped, *gathered)
    to_steps = read_out(steps[blocks + 1], bounds, flat, starts, kept, own, other, share, slopes)
    for b in range(blocks - 1, -1, -1):
        gathered = beside[b], highest[b], normal[b + 1], scales[b + 1]
        block_slopes(
            *(b, steps, bounds, flat, starts, offsets, seeds[b], dropped),
            *gathered,
            to_steps,
            slopes,
        )
    to = vector(slopes, starts, 1), vector(slopes, starts, 2), vector(slopes, starts, 3)
    finish_backward(to_steps, steps[1], normal[0], scales[0], gain, NEVER, NEVER, found, none, *to)
    add_product(found, at_stem, matrix(slopes, starts, 0, at_stem.shape[1]))


@compiled
@no_type_check
def read_block(
    b, steps, bounds, flat, starts, offsets, seed, dropped, beside, highest, normal, scales
):
    """Fills the steps of block ``b``, and what its slopes need."""
    first, dim = STEM_PARTS + b * BLOCK_PARTS, steps.shape[2]
    past = steps[b + 1]
    narrow = np.dot(past, matrix(flat, starts, first, dim).T)
    gather(narrow, vector(flat, starts, first + 1), bounds, offsets, beside)
    fill_highest(past, bounds, highest)
    far = np.dot(beside, matrix(flat, starts, first + 2, beside.shape[1]).T)
    near = np.dot(highest, matrix(flat, starts, first + 3, dim).T)
    biases = vector(flat, starts, first + 4)
    gain, shift = vector(flat, starts, first + 5), vector(flat, starts, first + 6)
    out = steps[b + 2]
    finish(far, near, biases, past, gain, shift, seed, dropped, out, normal, scales)


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
    beside,
    highest,
    normal,
    scales,
    to_steps,
    slopes,
):
    """Adds the slopes of a block's weights; ``to_steps`` become those of the steps it read."""
    first, dim = STEM_PARTS + b * BLOCK_PARTS, steps.shape[2]
    rows, wide = beside.shape
    past, narrow = steps[b + 1], dim // 4
    to_far = np.empty((rows, dim - narrow), np.float32)
    to_near = np.empty((rows, narrow), np.float32)
    to_biases = vector(slopes, starts, first + 4)
    to_norm = vector(slopes, starts, first + 5), vector(slopes, starts, first + 6)
    finish_backward(
        *(to_steps, steps[b + 2], normal, scales),
        *(vector(flat, starts, first + 5), seed, dropped),
        *(to_far, to_near, to_biases, *to_norm),
    )
    add_product(to_far, beside, matrix(slopes, starts, first + 2, wide))
    add_product(to_near, highest, matrix(slopes, starts, first + 3, dim))
    to_beside = np.dot(to_far, matrix(flat, starts, first + 2, wide))
    to_narrow = to_near  # as wide, and not needed any more
    to_highest = np.dot(to_near, matrix(flat, starts, first + 3, dim))
    scatter(to_beside, bounds, offsets, to_narrow, vector(slopes, starts, first + 1))
    add_product(to_narrow, past, matrix(slopes, starts, first, dim))
    more = np.dot(to_narrow, matrix(flat, starts, first, dim))
    spread_highest(past, bounds, to_highest, more, to_steps)


@compiled
@no_type_check
def read_out(steps, bounds, flat, starts, kept, own, other, share, slopes):
    """The slopes of the last steps; those of the read-out's weights are added to ``slopes``."""
    clips, dim = len(bounds) - 1, steps.shape[1]
    last = len(starts) - 3
    pool, places = np.empty((clips, 2 * dim), np.float32), np.empty((clips, dim), np.int64)
    fill_pooled(steps, bounds, pool, places)
    pool *= kept
    read = matrix(flat, starts, last, 2 * dim)
    outputs = np.dot(pool, read.T)
    outputs += vector(flat, starts, last + 1)
    fill_loss_slopes(outputs, own, other, share)
    add_product(outputs, pool, matrix(slopes, starts, last, 2 * dim))
    to_bias = vector(slopes, starts, last + 1)
    for clip in range(clips):
        to_bias += outputs[clip]
    to_pool = np.dot(outputs, read)
    to_pool *= kept
    to_steps = np.empty(steps.shape, np.float32)
    spread_pooled(to_pool, bounds, places, to_steps)
    return to_steps


@compiled
@no_type_check
def fill_loss_slopes(outputs, own, other, share):
    """Turns outputs into slopes: of the cross-entropy, or of the absolute error of one number."""
    rest = np.float32(1) - share
    for clip in range(len(outputs)):
        row, wanted, others = outputs[clip], own[clip], other[clip]
        if len(row) == 1:
            row[0] = share * np.sign(row[0] - wanted[0]) + rest * np.sign(row[0] - others[0])
            continue
        highest = row.max()
        for k in range(len(row)):
            row[k] = np.exp(row[k] - highest)
        total = row.sum()
        for k in range(len(row)):
            row[k] = row[k] / total - share * wanted[k] - rest * others[k]


@compiled
@no_type_check
def add_product(left, right, total):
    """Adds left' right to ``total``."""
    total += np.dot(left.T, right)


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
