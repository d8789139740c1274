"""Slopes of the taps network's weights: a batch forward and back, compiled.

A few clips go all the way before the next ones: what they leave behind stays in the processor's
cache, which a whole batch would not; and from one layer to the next there is no call from Python,
of which each costs some microseconds. Weights are those of `mmalign.experts.taps_forward`, and so
are rows that are kept apart.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.tiled import fill_products, once, side_by_side, sum_products
from mmalign.experts.taps_forward import (
    BLOCK_PARTS,
    NEVER,
    STEM_PARTS,
    apart_place,
    apart_rows,
    end_of_few,
    read_few,
    set_apart,
    turn_weights,
    turned_room,
    vector,
)
from mmalign.experts.taps_kernels import (
    finish_backward,
    spread_highest,
    spread_thinned,
)
from mmalign.experts.taps_products import SPARE, add_transposed_product, room_for
from mmalign.experts.taps_read_out import read_out

AT_ONCE = 128
"""Steps whose slopes of the stem are multiplied at once: they stay in the nearest cache."""


@compiled
@no_type_check
def add_slopes(
    seen, bounds, flat, starts, stem, stride, offsets, seeds, dropped, own, other, share, slopes
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
    turned = np.empty(turned_room(seen.shape[1], dim, blocks, stem, offsets), np.float32)
    turn_weights(flat, starts, seen.shape[1], stem, offsets, turned)
    clips, start = len(bounds) - 1, 0
    while start < clips:
        end, first = end_of_few(bounds, start), bounds[start]
        add_slopes_of_few(
            *(seen[first : bounds[end]], bounds[start : end + 1] - first),
            *(flat, starts, turned, stem, stride, offsets, seeds[start:end], dropped),
            *(own[start:end], other[start:end], share, slopes),
        )
        start = end


@compiled
@no_type_check
def add_slopes_of_few(
    seen, bounds, flat, starts, turned, stem, stride, offsets, seeds, dropped, own, other, share,
    slopes,
):  # fmt: skip
    """The same for a few clips that go together."""
    blocks, dim = seeds.shape[1] - 1, starts[2] - starts[1]
    fewer, steps, of_blocks, of_stem = read_few(
        *(seen, bounds, flat, starts, turned, stem, stride, offsets, seeds[0], dropped[0], blocks)
    )
    apart, highest, normal, scales = of_blocks
    chance = seeds[:, blocks], dropped[1]
    to_steps = read_out(steps[blocks], fewer, flat, starts, *chance, own, other, share, slopes)
    for b in range(blocks - 1, -1, -1):
        left = apart[b], highest[b], normal[b], scales[b]
        chance = seeds[0, b], dropped[0]
        block_slopes(b, steps, fewer, flat, starts, offsets, *chance, *left, to_steps, slopes)
    around, found, kept = of_stem
    to_first = np.empty((len(seen), dim), np.float32)
    spread_thinned(kept[0], bounds, stride, fewer, to_steps, to_first)
    gain = vector(flat, starts, 2)
    to = vector(slopes, starts, 1), vector(slopes, starts, 2), vector(slopes, starts, 3)
    finish_backward(to_first, *kept, gain, NEVER, NEVER, dim, found, found, *to)
    add_stem_slopes(found, around, bounds, stem, dim, slopes)


@compiled
@no_type_check
def add_stem_slopes(to_found, around, bounds, stem, dim, slopes):
    """Adds the slopes of the stem's weights, which are the first of all."""
    width, vectors = around.shape[1], side_by_side(dim)
    inputs, rows = len(stem) * width, apart_rows(bounds, stem) - SPARE - stem[-1]
    apart = np.empty((apart_rows(bounds, stem), dim), np.float32)
    set_apart(to_found, np.zeros(dim, np.float32), bounds, stem, apart)
    lines = np.zeros((inputs + SPARE) * dim, np.float32)
    for first in range(stem[-1], rows, AT_ONCE):
        turns = once(min(AT_ONCE, rows - first))
        sum_products(
            *(around, (first + stem[0]) * width, 1, width, apart, first * dim, dim, turns, vectors),
            *(lines, 0, dim, lines, 0, dim, inputs),
        )
    for k in range(dim):
        for s in range(inputs):
            slopes[k * inputs + s] += lines[s * dim + k]


@compiled
@no_type_check
def block_slopes(
    b, steps, bounds, flat, starts, offsets, seed, dropped, apart, highest, normal, scales,
    to_steps, slopes,
):  # fmt: skip
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
