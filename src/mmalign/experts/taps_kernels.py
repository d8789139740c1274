"""The loops of the taps network, forward and backward, compiled.

Steps are ``[rows, features]``, the clips of a batch one after the other; ``bounds[k]`` is where
clip k begins, and where the one before ends. Nothing is padded, so that no row is computed in vain;
a hidden step has whole vectors of numbers. Steps are never negative where a maximum is taken.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.loops import dot, total_of
from mmalign.align.kernels.simd import (
    everywhere,
    larger,
    load,
    plus,
    plus_product,
    store,
    times,
    where_positive,
)
from mmalign.experts.layout import LANES
from mmalign.model.kernels.chance import is_kept

SLIGHT = np.float32(1e-5)
"""What a variance is raised by, as in torch's layer norm."""
SLOWLY = np.float32(1e-8)
"""What keeps a step of Adam finite where slopes are 0."""


@compiled
@no_type_check
def gather(steps, bias, bounds, offsets, beside):
    """Fills ``beside`` with steps + bias at each offset, side by side; zeros beyond the ends."""
    dim = steps.shape[1]
    for clip in range(len(bounds) - 1):
        first, end = bounds[clip], bounds[clip + 1]
        for t in range(first, end):
            row = beside[t]
            for number in range(len(offsets)):
                at = t + offsets[number]
                start = number * dim
                if first <= at < end:
                    for k in range(dim):
                        row[start + k] = steps[at, k] + bias[k]
                else:
                    for k in range(dim):
                        row[start + k] = 0


@compiled
@no_type_check
def fill_highest(steps, bounds, highest):
    """Fills ``highest`` with the maximum of each step and its two neighbours."""
    dim = steps.shape[1]
    for clip in range(len(bounds) - 1):
        first, end = bounds[clip], bounds[clip + 1]
        for t in range(first, end):
            before, own, after = steps[max(t - 1, first)], steps[t], steps[min(t + 1, end - 1)]
            row = highest[t]
            for k in range(dim):
                row[k] = max(max(before[k], own[k]), after[k])


@compiled
@no_type_check
def spread_highest(steps, bounds, slopes, more, totals):
    """Adds slopes to ``totals``: those of a maximum belong to the first step that reaches it.

    ``more`` is added, too: slopes that came another way.
    """
    dim = steps.shape[1]
    none = np.float32(0)
    for clip in range(len(bounds) - 1):
        first, end = bounds[clip], bounds[clip + 1]
        last = end - 1
        for t in range(first, end):
            before, after = max(t - 1, first), min(t + 1, last)
            earlier, later = steps[max(t - 2, first)], steps[min(t + 2, last)]
            left, now, right = steps[before], steps[t], steps[after]
            left_slope, slope, right_slope = slopes[before], slopes[t], slopes[after]
            is_start, has_next = t == first, t < last
            total, added = totals[t], more[t]
            for k in range(dim):
                own = now[k]
                is_own = (own > left[k] or is_start) and own >= right[k]
                is_first = has_next and own >= right[k] and own >= later[k]
                is_last = own > left[k] and own > earlier[k]
                total[k] += added[k] + (
                    (slope[k] if is_own else none)
                    + (right_slope[k] if is_first else none)
                    + (left_slope[k] if is_last else none)
                )


@compiled
@no_type_check
def finish(far, near, width, biases, steps, gain, shift, seed, dropped, out, normal, scales):
    """Fills ``out`` with relu(steps + dropout(layer norm of far and near + biases)).

    ``normal`` and ``scales`` keep the normalised numbers and what they were multiplied by.
    ``dropped`` of 256 numbers become 0.
    """
    rows, dim = normal.shape
    share, none = np.float32(1) / np.float32(dim), everywhere(np.float32(0))
    factors = np.empty(dim, np.float32)
    for t in range(rows):
        kept, place = normal[t], t * dim
        for k in range(width):
            kept[k] = far[t, k] + biases[k]
        for k in range(width, dim):
            kept[k] = near[t, k - width] + biases[k]
        minus_mean = everywhere(-total_of(normal, place, dim) * share)
        for k in range(place, place + dim, LANES):
            store(plus(load(normal, k), minus_mean), normal, k)
        variance = dot(normal, place, normal, place, dim) * share
        scales[t] = np.float32(1) / np.sqrt(variance + SLIGHT)
        scale = everywhere(scales[t])
        fill_factors(place, seed, dropped, factors)
        for k in range(0, dim, LANES):
            standard = times(load(normal, place + k), scale)
            store(standard, normal, place + k)
            found = plus_product(load(shift, k), standard, load(gain, k))
            found = plus_product(load(steps, place + k), found, load(factors, k))
            store(larger(found, none), out, place + k)


@compiled
@no_type_check
def finish_backward(
    slopes,
    out,
    normal,
    scales,
    gain,
    seed,
    dropped,
    width,
    to_far,
    to_near,
    to_biases,
    to_gain,
    to_shift,
):
    """Fills the slopes of what `finish` read; ``slopes`` become those of its steps.

    Those of biases, gain and shift are added to what is there.
    """
    rows, dim = normal.shape
    share = np.float32(1) / np.float32(dim)
    row, factors = np.empty(dim, np.float32), np.empty(dim, np.float32)
    for t in range(rows):
        place = t * dim
        fill_factors(place, seed, dropped, factors)
        for k in range(0, dim, LANES):
            past = where_positive(load(out, place + k), load(slopes, place + k))
            store(past, slopes, place + k)
            found = times(past, load(factors, k))
            kept = load(normal, place + k)
            store(plus_product(load(to_gain, k), found, kept), to_gain, k)
            store(plus(load(to_shift, k), found), to_shift, k)
            store(times(found, load(gain, k)), row, k)
        minus_mean = everywhere(-total_of(row, 0, dim) * share)
        minus_along = everywhere(-dot(row, 0, normal, place, dim) * share)
        scale = everywhere(scales[t])
        for k in range(0, dim, LANES):
            found = plus_product(load(row, k), load(normal, place + k), minus_along)
            found = times(plus(found, minus_mean), scale)
            store(found, row, k)
            store(plus(load(to_biases, k), found), to_biases, k)
        for k in range(width):
            to_far[t, k] = row[k]
        for k in range(width, dim):
            to_near[t, k - width] = row[k]


@inlined
@no_type_check
def fill_factors(place, seed, dropped, factors):
    """Fills a row of what numbers from ``place`` on are multiplied by: 0 where dropout hits."""
    louder = np.float32(256) / np.float32(256 - dropped)
    first = np.uint32(place)  # of 32 bits, as places are that are hashed: twice as fast
    for k in range(len(factors)):
        here = np.uint32(first + np.uint32(k))
        factors[k] = louder if is_kept(here, seed, dropped) else np.float32(0)


@compiled
@no_type_check
def fill_pooled(steps, bounds, pooled, places):
    """Fills ``pooled`` with the mean and the maximum over a clip, ``places`` with where that is."""
    dim = steps.shape[1]
    for clip in range(len(bounds) - 1):
        first, end = bounds[clip], bounds[clip + 1]
        total, highest, place = pooled[clip, :dim], pooled[clip, dim:], places[clip]
        for k in range(dim):
            total[k] = 0
            highest[k] = steps[first, k]
        for t in range(first, end):
            for k in range(dim):
                total[k] += steps[t, k]
            for k in range(dim):
                highest[k] = max(highest[k], steps[t, k])
        for k in range(dim):
            total[k] /= np.float32(end - first)
        # Backwards, so that the first step that reaches the maximum is the last one written.
        for t in range(end - 1, first - 1, -1):
            here = np.int32(t)
            for k in range(dim):
                place[k] = here if steps[t, k] == highest[k] else place[k]


@compiled
@no_type_check
def spread_pooled(slopes, bounds, places, totals):
    """Fills ``totals`` with the slopes of each step, from those of its clip's mean and maximum."""
    dim = totals.shape[1]
    for clip in range(len(bounds) - 1):
        first, end = bounds[clip], bounds[clip + 1]
        share = np.float32(1) / np.float32(end - first)
        for t in range(first, end):
            row = totals[t]
            for k in range(dim):
                row[k] = slopes[clip, k] * share
        for k in range(dim):
            totals[places[clip, k], k] += slopes[clip, dim + k]


@compiled
@no_type_check
def adam(weights, slopes, means, squares, rate, decay, first, second, count):
    """Takes step number ``count`` of Adam with decoupled weight decay, in place.

    Slopes are scaled down to a norm of 1 where it is larger. ``first`` and ``second`` say how
    slowly the means of slopes and of their squares follow.
    """
    norm = np.sqrt(dot(slopes, 0, slopes, 0, len(slopes)))
    share = min(np.float32(1) / (norm + np.float32(1e-6)), np.float32(1))
    size = rate / (np.float32(1) - first**count)
    root = np.sqrt(np.float32(1) - second**count)
    for k in range(len(weights)):
        slope = share * slopes[k]
        means[k] = first * means[k] + (np.float32(1) - first) * slope
        squares[k] = second * squares[k] + (np.float32(1) - second) * slope * slope
        weights[k] -= rate * decay * weights[k]
        weights[k] -= size * means[k] / (np.sqrt(squares[k]) / root + SLOWLY)
