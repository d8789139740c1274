"""The loops of the taps network, forward and backward, compiled.

Steps are ``[rows, features]``, the clips of a batch one after the other; ``bounds[k]`` is where
clip k begins, and where the one before ends. Nothing is padded, so that no row is computed in vain;
a quarter of a hidden step has whole vectors of numbers. Steps are never negative where a maximum is
taken.
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
    where_positive,
)
from mmalign.experts.layout import LANES
from mmalign.model.kernels.chance import factors_at
from mmalign.model.kernels.products import SLIGHT


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
    louder = np.float32(256) / np.float32(256 - dropped)
    for t in range(rows):
        place = t * dim
        total = add_biases(far, t * width, biases, 0, width, none, normal, place)
        total = add_biases(near, t * (dim - width), biases, width, dim, total, normal, place)
        minus_mean = everywhere(-sum_of_lanes(total) * share)
        total = none
        for k in range(place, place + dim, LANES):
            found = plus(load(normal, k), minus_mean)
            total = plus_product(total, found, found)
            store(found, normal, k)
        scales[t] = np.float32(1) / np.sqrt(sum_of_lanes(total) * share + SLIGHT)
        scale = everywhere(scales[t])
        for k in range(0, dim, LANES):
            standard = times(load(normal, place + k), scale)
            store(standard, normal, place + k)
            found = plus_product(load(shift, k), standard, load(gain, k))
            kept = factors_at(place + k, seed, dropped, louder)
            found = plus_product(load(steps, place + k), found, kept)
            store(larger(found, none), out, place + k)


@inlined
@no_type_check
def add_biases(found, at, biases, first, end, total, out, place):
    """Writes numbers + biases ``first`` to ``end`` of a row, and adds them to ``total``."""
    for k in range(first, end, LANES):
        vector = plus(load(found, at + k - first), load(biases, k))
        total = plus(total, vector)
        store(vector, out, place + k)
    return total


@compiled
@no_type_check
def finish_backward(
    slopes, out, normal, scales, gain, seed, dropped, width, to_far, to_near, to_biases, to_gain,
    to_shift,
):  # fmt: skip
    """Fills the slopes of what `finish` read; ``slopes`` become those of its steps.

    Those of biases, gain and shift are added to what is there.
    """
    rows, dim = normal.shape
    share, none = np.float32(1) / np.float32(dim), everywhere(np.float32(0))
    louder = np.float32(256) / np.float32(256 - dropped)
    row = np.empty(dim, np.float32)
    for t in range(rows):
        place = t * dim
        total = along = none
        for k in range(0, dim, LANES):
            past = where_positive(load(out, place + k), load(slopes, place + k))
            store(past, slopes, place + k)
            found = times(past, factors_at(place + k, seed, dropped, louder))
            kept = load(normal, place + k)
            store(plus_product(load(to_gain, k), found, kept), to_gain, k)
            store(plus(load(to_shift, k), found), to_shift, k)
            found = times(found, load(gain, k))
            total, along = plus(total, found), plus_product(along, found, kept)
            store(found, row, k)
        minus_mean = everywhere(-sum_of_lanes(total) * share)
        minus_along = everywhere(-sum_of_lanes(along) * share)
        scale = everywhere(scales[t])
        for k in range(0, dim, LANES):
            found = plus_product(load(row, k), load(normal, place + k), minus_along)
            found = times(plus(found, minus_mean), scale)
            store(plus(load(to_biases, k), found), to_biases, k)
            if k < width:
                store(found, to_far, t * width + k)
            else:
                store(found, to_near, t * (dim - width) + k - width)


@compiled
@no_type_check
def thinned_bounds(bounds, stride):
    """Where clips begin and end if ``stride`` steps in a row become one."""
    fewer = np.empty_like(bounds)
    fewer[0] = 0
    for clip in range(len(bounds) - 1):
        fewer[clip + 1] = fewer[clip] + (bounds[clip + 1] - bounds[clip] + stride - 1) // stride
    return fewer


@compiled
@no_type_check
def fill_thinned(steps, bounds, stride, fewer, out):
    """Fills ``out`` with the maximum of each ``stride`` steps in a row of a clip."""
    dim = steps.shape[1]
    for clip in range(len(bounds) - 1):
        at, end = bounds[clip], bounds[clip + 1]
        for row in range(fewer[clip], fewer[clip + 1]):
            out[row, :dim] = steps[at]
            for t in range(at + 1, min(at + stride, end)):
                for k in range(dim):
                    out[row, k] = max(out[row, k], steps[t, k])
            at += stride


@compiled
@no_type_check
def spread_thinned(steps, bounds, stride, fewer, slopes, totals):
    """Fills ``totals``: the slope of a maximum belongs to the first step that reaches it."""
    dim, none = steps.shape[1], np.float32(0)
    for clip in range(len(bounds) - 1):
        at, end = bounds[clip], bounds[clip + 1]
        for row in range(fewer[clip], fewer[clip + 1]):
            last = min(at + stride, end)
            for t in range(at, last):
                totals[t] = slopes[row, :dim]
                for other in range(at, last):
                    for k in range(dim):
                        is_lower = steps[t, k] < steps[other, k]
                        is_later = steps[t, k] == steps[other, k] and other < t
                        totals[t, k] = none if is_lower or is_later else totals[t, k]
            at += stride


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
