"""The loops of the taps network, forward and backward, compiled.

Everything is ``[batch, time, features]`` and as long as it is padded; steps from a clip's length on
are zero in what is filled, and are never read. Steps are never negative where a maximum is taken.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled, inlined, reordered

SLIGHT = np.float32(1e-5)
"""What a variance is raised by, as in torch's layer norm."""


@compiled
@no_type_check
def gather(steps, lengths, offsets, beside):
    """Fills ``beside`` with the steps at each offset, side by side; zeros beyond the ends."""
    batch, time, dim = steps.shape
    for clip in range(batch):
        length = lengths[clip]
        for t in range(time):
            row = beside[clip, t]
            for number in range(len(offsets)):
                at = t + offsets[number]
                start = number * dim
                if t < length and 0 <= at < length:
                    for k in range(dim):
                        row[start + k] = steps[clip, at, k]
                else:
                    for k in range(dim):
                        row[start + k] = 0


@compiled
@no_type_check
def scatter(slopes, lengths, offsets, totals):
    """Fills ``totals`` with the slopes of each step, added up from wherever `gather` put it."""
    batch, _, dim = totals.shape
    totals[:] = 0
    for clip in range(batch):
        length = lengths[clip]
        for t in range(length):
            total = totals[clip, t]
            for number in range(len(offsets)):
                at = t - offsets[number]
                if 0 <= at < length:
                    start = number * dim
                    for k in range(dim):
                        total[k] += slopes[clip, at, start + k]


@compiled
@no_type_check
def fill_highest(steps, lengths, highest):
    """Fills ``highest`` with the maximum of each step and its two neighbours."""
    batch, _, dim = steps.shape
    for clip in range(batch):
        length = lengths[clip]
        for t in range(length):
            before, after = max(t - 1, 0), min(t + 1, length - 1)
            for k in range(dim):
                highest[clip, t, k] = max(
                    max(steps[clip, before, k], steps[clip, t, k]), steps[clip, after, k]
                )
        highest[clip, length:] = 0


@compiled
@no_type_check
def spread_highest(steps, lengths, slopes, totals):
    """Fills ``totals``: the slope of a maximum belongs to the first of the steps that reach it."""
    batch, _, dim = steps.shape
    none = np.float32(0)
    for clip in range(batch):
        length = lengths[clip]
        for t in range(length):
            before, after = max(t - 1, 0), min(t + 1, length - 1)
            earlier, later = max(t - 2, 0), min(t + 2, length - 1)
            is_start, has_next = t == 0, t + 1 < length
            for k in range(dim):
                own, left, right = steps[clip, t, k], steps[clip, before, k], steps[clip, after, k]
                is_own = (own > left or is_start) and own >= right
                is_first = has_next and own >= right and own >= steps[clip, later, k]
                is_last = own > left and own > steps[clip, earlier, k]
                totals[clip, t, k] = (
                    (slopes[clip, t, k] if is_own else none)
                    + (slopes[clip, after, k] if is_first else none)
                    + (slopes[clip, before, k] if is_last else none)
                )
        totals[clip, length:] = 0


@inlined
@no_type_check
def is_kept(place, seed, dropped):
    """Whether dropout keeps the number at a place: a hash of the place decides."""
    x = np.uint32(np.uint32(place) * np.uint32(0x9E3779B1) + seed)
    x = np.uint32(x ^ (x >> np.uint32(16)))
    x = np.uint32(x * np.uint32(0x85EBCA6B))
    x = np.uint32(x ^ (x >> np.uint32(13)))
    x = np.uint32(x * np.uint32(0xC2B2AE35))
    return np.uint32(x >> np.uint32(24)) >= dropped


@reordered
@no_type_check
def finish(far, near, steps, lengths, gain, bias, seed, dropped, out, normal, scales):
    """Fills ``out`` with relu(steps + dropout(layer norm of far and near)).

    ``normal`` and ``scales`` keep the normalised numbers and what they were multiplied by.
    ``dropped`` of 256 numbers become 0.
    """
    batch, time, dim = out.shape
    width = far.shape[2]
    louder = np.float32(256) / np.float32(256 - dropped)
    row = np.empty(dim, np.float32)
    for clip in range(batch):
        length = lengths[clip]
        for t in range(length):
            for k in range(width):
                row[k] = far[clip, t, k]
            for k in range(width, dim):
                row[k] = near[clip, t, k - width]
            total = np.float32(0)
            for k in range(dim):
                total += row[k]
            mean = total / np.float32(dim)
            total = np.float32(0)
            for k in range(dim):
                row[k] -= mean
                total += row[k] * row[k]
            scale = np.float32(1) / np.sqrt(total / np.float32(dim) + SLIGHT)
            scales[clip, t] = scale
            place = (clip * time + t) * dim
            found, kept, past = out[clip, t], normal[clip, t], steps[clip, t]
            for k in range(dim):
                kept[k] = row[k] * scale
                row[k] = kept[k] * gain[k] + bias[k]
            if dropped:
                for k in range(dim):
                    row[k] = row[k] * louder if is_kept(place + k, seed, dropped) else np.float32(0)
            for k in range(dim):
                found[k] = max(past[k] + row[k], np.float32(0))
        out[clip, length:] = 0


@reordered
@no_type_check
def finish_backward(
    slopes, out, normal, scales, lengths, gain, seed, dropped, to_far, to_near, to_steps, to_norm
):
    """Fills the slopes of what `finish` read; ``to_norm`` ``[2, dim]``: of gain and bias."""
    batch, time, dim = out.shape
    width = to_far.shape[2]
    louder = np.float32(256) / np.float32(256 - dropped)
    row = np.empty(dim, np.float32)
    to_norm[:] = 0
    for clip in range(batch):
        length = lengths[clip]
        for t in range(length):
            given, found, kept = slopes[clip, t], out[clip, t], normal[clip, t]
            past = to_steps[clip, t]
            for k in range(dim):
                past[k] = given[k] if found[k] > 0 else np.float32(0)
                row[k] = past[k]
            place = (clip * time + t) * dim
            if dropped:
                for k in range(dim):
                    row[k] = row[k] * louder if is_kept(place + k, seed, dropped) else np.float32(0)
            total, along = np.float32(0), np.float32(0)
            for k in range(dim):
                to_norm[0, k] += row[k] * kept[k]
                to_norm[1, k] += row[k]
                row[k] *= gain[k]
                total += row[k]
                along += row[k] * kept[k]
            total /= np.float32(dim)
            along /= np.float32(dim)
            scale = scales[clip, t]
            for k in range(dim):
                row[k] = scale * (row[k] - total - kept[k] * along)
            for k in range(width):
                to_far[clip, t, k] = row[k]
            for k in range(width, dim):
                to_near[clip, t, k - width] = row[k]
        to_far[clip, length:] = 0
        to_near[clip, length:] = 0
        to_steps[clip, length:] = 0


@compiled
@no_type_check
def fill_pooled(steps, lengths, pooled, places):
    """Fills ``pooled`` with the mean and the maximum over a clip, ``places`` with where that is."""
    batch, _, dim = steps.shape
    for clip in range(batch):
        length = lengths[clip]
        total, highest = pooled[clip, :dim], pooled[clip, dim:]
        total[:] = 0
        highest[:] = steps[clip, 0]
        places[clip] = 0
        for t in range(length):
            now = np.int32(t)
            for k in range(dim):
                total[k] += steps[clip, t, k]
            for k in range(dim):
                number = steps[clip, t, k]
                is_higher = number > highest[k]
                places[clip, k] = now if is_higher else places[clip, k]
                highest[k] = number if is_higher else highest[k]
        for k in range(dim):
            total[k] /= np.float32(length)


@compiled
@no_type_check
def spread_pooled(slopes, lengths, places, totals):
    """Fills ``totals`` with the slopes of each step, from those of its clip's mean and maximum."""
    batch, _, dim = totals.shape
    for clip in range(batch):
        length = lengths[clip]
        share = np.float32(1) / np.float32(length)
        for t in range(length):
            for k in range(dim):
                totals[clip, t, k] = slopes[clip, k] * share
        totals[clip, length:] = 0
        for k in range(dim):
            totals[clip, places[clip, k], k] += slopes[clip, dim + k]
