"""Transformer layers over the rows of a whole batch, forward and backward, without padding.

The rows of all clips follow each other, ``dim`` numbers each, in flat arrays with ``SPARE`` rows of
zeros at the end; ``dim`` is a multiple of 16. Weights are as torch keeps them, one after the other:
query, key and value, their biases, out, norm, widen, narrow. Slopes are kept the same way.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import in_vectors
from mmalign.align.kernels.exponential import exponential
from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.loops import dot, total_of
from mmalign.align.kernels.simd import everywhere, load, number_at
from mmalign.model.kernels.chance import is_kept
from mmalign.model.kernels.products import SLIGHT, both_plus, store_rows

SPARE = 8
"""Rows beyond the last one, which whole tiles may touch."""

LANES = 16
NONE = np.float32(0)
CLOSED = np.float32(-np.inf)


@compiled
@no_type_check
def layer_numbers(dim):
    """Weights and biases of a layer."""
    return 12 * dim * dim + 11 * dim


@compiled
@no_type_check
def multiply(a, at, down, along, rows, steps, b, bt, line, wide, first, f, f_down, out, o, o_down):
    """out_r = first_r + sum over s of a[at + r down + s along] * b[bt + s line ...].

    Rows ``o + r o_down`` of ``wide`` numbers, a multiple of 16, in tiles of four rows.
    """
    paired = wide // (2 * LANES) * 2 * LANES
    for row in range(0, rows, 4):
        place, start = o + row * o_down, f + row * f_down
        for lane in range(0, wide, 2 * LANES if paired else LANES):  # an odd one goes twice
            other = lane + LANES if lane < paired else lane
            p, q, r, s = load_rows(first, start + lane, f_down)
            t, u, v, w = load_rows(first, start + other, f_down)
            here, there = at + row * down, bt
            for _ in range(steps):
                left, right = load(b, there + lane), load(b, there + other)
                p, t = both_plus(p, t, everywhere(number_at(a, here)), left, right)
                q, u = both_plus(q, u, everywhere(number_at(a, here + down)), left, right)
                r, v = both_plus(r, v, everywhere(number_at(a, here + 2 * down)), left, right)
                s, w = both_plus(s, w, everywhere(number_at(a, here + 3 * down)), left, right)
                here += along
                there += line
            store_rows(p, q, r, s, out, place + lane, o_down)
            store_rows(t, u, v, w, out, place + other, o_down)


@inlined
@no_type_check
def load_rows(array, at, down):
    """The vectors of four rows."""
    return (
        load(array, at),
        load(array, at + down),
        load(array, at + 2 * down),
        load(array, at + 3 * down),
    )


@compiled
@no_type_check
def drop(values, count, seed, dropped):
    """``dropped`` of 256 numbers become 0, the others grow, so that the mean stays."""
    if dropped:
        louder = np.float32(256) / np.float32(256 - dropped)
        for k in range(count):
            values[k] = values[k] * louder if is_kept(k, seed, dropped) else NONE


@compiled
@no_type_check
def turned(weights, at, outputs, inputs):
    """A matrix with a line for each input, from one with a line for each output."""
    lines = np.empty(inputs * outputs, np.float32)
    for o in range(outputs):
        for i in range(inputs):
            lines[i * outputs + o] = weights[at + o * inputs + i]
    return lines


@compiled
@no_type_check
def linear(rows, count, inputs, weights, at, bias, outputs, out):
    """Fills ``out``: rows times a matrix of torch's, and its bias."""
    lines = turned(weights, at, outputs, inputs)
    multiply(
        rows, 0, inputs, 1, count, inputs, lines, 0, outputs, outputs, weights, bias, 0,
        out, 0, outputs,
    )  # fmt: skip


@compiled
@no_type_check
def linear_back(slopes, rows, count, inputs, weights, at, bias, outputs, to_rows, to_weights):
    """Adds to ``to_rows`` and ``to_weights`` what the slopes of ``linear`` say."""
    multiply(
        slopes, 0, outputs, 1, count, outputs, weights, at, inputs, inputs, to_rows, 0, inputs,
        to_rows, 0, inputs,
    )  # fmt: skip
    multiply(
        slopes, 0, 1, outputs, outputs, count, rows, 0, inputs, inputs, to_weights, at, inputs,
        to_weights, at, inputs,
    )  # fmt: skip
    to_bias = to_weights[bias : bias + outputs]
    for r in range(count):
        for k in range(outputs):
            to_bias[k] += slopes[r * outputs + k]


@compiled
@no_type_check
def attend(query, both, starts, ends, known, dim, heads, shares, found):
    """Fills ``found`` with what each query finds in its clip's rows, ``shares`` with how much.

    The queries of clip c are ``starts[c] .. starts[c + 1]``, its rows ``ends[c] .. ends[c + 1]`` of
    ``both``, keys and values side by side; of these the ``known`` ones are read.
    """
    part, at = dim // heads, 0
    scale = np.float32(1 / np.sqrt(part))
    for clip in range(len(starts) - 1):
        first, count = ends[clip], ends[clip + 1] - ends[clip]
        line = in_vectors(count)
        keys, values = laid_out(both, first, count, line, dim)
        closed = np.full(line, CLOSED)
        for m in range(count):
            closed[m] = NONE if known[first + m] else CLOSED
        powers = np.empty(line)
        for r in range(starts[clip], starts[clip + 1]):
            for head in range(heads):
                share = shares[at : at + line]
                share[:] = closed
                for k in range(head * part, head * part + part):
                    factor = query[r * dim + k] * scale
                    for m in range(line):
                        share[m] += factor * keys[k, m]
                highest = CLOSED
                for m in range(line):
                    highest = max(highest, share[m])
                for m in range(line):
                    powers[m] = share[m] - highest
                exponential(powers)
                for m in range(line):
                    share[m] = powers[m]
                inverse = np.float32(1) / total_of(share, 0, line)
                for m in range(line):
                    share[m] *= inverse
                for k in range(head * part, head * part + part):
                    found[r * dim + k] = dot(share, 0, values, k * line, line)
                at += line


@compiled
@no_type_check
def laid_out(both, first, count, line, dim):
    """Keys and values of a clip with a line for each of their numbers; zeros beyond the rows."""
    keys, values = np.zeros((dim, line), np.float32), np.zeros((dim, line), np.float32)
    for m in range(count):
        row = (first + m) * 2 * dim
        for k in range(dim):
            keys[k, m] = both[row + k]
            values[k, m] = both[row + dim + k]
    return keys, values


@compiled
@no_type_check
def attend_back(slopes, query, both, starts, ends, dim, heads, shares, to_query, to_both):
    """Fills the slopes of queries, keys and values."""
    part, at = dim // heads, 0
    scale = np.float32(1 / np.sqrt(part))
    for clip in range(len(starts) - 1):
        first, count = ends[clip], ends[clip + 1] - ends[clip]
        line = in_vectors(count)
        keys, values = laid_out(both, first, count, line, dim)
        to_keys, to_values = np.zeros((dim, line), np.float32), np.zeros((dim, line), np.float32)
        sloped = np.empty(line, np.float32)
        for r in range(starts[clip], starts[clip + 1]):
            for head in range(heads):
                share = shares[at : at + line]
                sloped[:] = NONE
                for k in range(head * part, head * part + part):
                    factor = slopes[r * dim + k]
                    for m in range(line):
                        sloped[m] += factor * values[k, m]
                        to_values[k, m] += factor * share[m]
                total = dot(sloped, 0, share, 0, line)
                for m in range(line):
                    sloped[m] = share[m] * (sloped[m] - total) * scale
                for k in range(head * part, head * part + part):
                    factor = query[r * dim + k]
                    for m in range(line):
                        to_keys[k, m] += sloped[m] * factor
                    to_query[r * dim + k] = dot(sloped, 0, keys, k * line, line)
                at += line
        for m in range(count):
            row = (first + m) * 2 * dim
            for k in range(dim):
                to_both[row + k] = to_keys[k, m]
                to_both[row + dim + k] = to_values[k, m]


@compiled
@no_type_check
def normalise_rows(rows, count, dim, weights, at, normal, scales, out):
    """Layer norm of each row; ``normal`` and ``scales`` are kept for the way back."""
    for r in range(count):
        start, stop = r * dim, (r + 1) * dim
        row, kept, filled = rows[start:stop], normal[start:stop], out[start:stop]
        mean = total_of(rows, start, dim) / np.float32(dim)
        for k in range(dim):
            kept[k] = row[k] - mean
        variance = dot(normal, start, normal, start, dim) / np.float32(dim)
        scales[r] = np.float32(1) / np.sqrt(variance + SLIGHT)
        for k in range(dim):
            kept[k] *= scales[r]
            filled[k] = kept[k] * weights[at + k] + weights[at + dim + k]


@compiled
@no_type_check
def normalise_back(slopes, count, dim, weights, at, normal, scales, to_rows, to_weights):
    """Adds to ``to_rows``, and to the slopes of gain and bias."""
    to_gain, to_bias = to_weights[at : at + dim], to_weights[at + dim : at + 2 * dim]
    row = np.empty(dim, np.float32)
    for r in range(count):
        for k in range(dim):
            slope = slopes[r * dim + k]
            to_gain[k] += slope * normal[r * dim + k]
            to_bias[k] += slope
            row[k] = slope * weights[at + k]
        total = total_of(row, 0, dim) / np.float32(dim)
        along = dot(row, 0, normal, r * dim, dim) / np.float32(dim)
        for k in range(dim):
            to_rows[r * dim + k] += scales[r] * (row[k] - total - normal[r * dim + k] * along)
