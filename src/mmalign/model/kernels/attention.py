"""Attention over the rows of a batch, forward and back; the lanes of a vector are a clip's rows.

Rows are flat, ``dim`` numbers each. The queries of clip c are ``starts[c] .. starts[c + 1]``, the
rows that they read ``ends[c] .. ends[c + 1]`` of ``both``, which has a key and a value side by side
in each row. Whole vectors are written: beyond the last row there must be room for one.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import in_vectors
from mmalign.align.kernels.exponential import exponential_of
from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.simd import (
    everywhere,
    larger,
    largest_of_lanes,
    load,
    number_at,
    plus,
    plus_product,
    store,
    sum_of_lanes,
    times,
)
from mmalign.align.kernels.tiled import LANES

NONE = np.float32(0)
CLOSED = np.float32(-np.inf)


@compiled
@no_type_check
def shares_of(starts, ends, heads):
    """Numbers that tell how much each query reads of each row."""
    needed = 0
    for clip in range(len(starts) - 1):
        needed += (starts[clip + 1] - starts[clip]) * in_vectors(ends[clip + 1] - ends[clip])
    return needed * heads


@compiled
@no_type_check
def attend(query, both, starts, ends, known, dim, heads, shares, found):
    """Fills ``found`` with what each query finds in known rows, ``shares`` with how much of each.

    Scores of all queries of a clip first, then all softmaxes, then all sums: within each of them
    nothing waits for the one before.
    """
    part, at = dim // heads, 0
    scale, room = np.float32(1 / np.sqrt(part)), in_vectors(longest_of(ends))
    keys, closed = np.empty(dim * room, np.float32), np.empty(room, np.float32)
    for clip in range(len(starts) - 1):
        first, count = ends[clip], ends[clip + 1] - ends[clip]
        line, place = in_vectors(count), first * 2 * dim
        turn(both, place, count, line, dim, keys)
        for m in range(line):
            closed[m] = NONE if m < count and known[first + m] else CLOSED
        queries = starts[clip] * dim, starts[clip + 1] * dim
        score = at
        for row in range(*queries, part):
            fill_dots(query, row, part, scale, keys, row % dim * line, closed, line, shares, score)
            score += line
        for share in range(at, score, line):
            soften(shares, share, line)
        for row in range(*queries, part):
            values = place + dim + row % dim
            mix_rows(shares, at, count, both, values, 2 * dim, part, found, row)
            at += line


@compiled
@no_type_check
def attend_back(slopes, query, both, starts, ends, dim, heads, shares, to_query, to_both):
    """Fills the slopes of queries, keys and values."""
    part, at = dim // heads, 0
    scale, room = np.float32(1 / np.sqrt(part)), in_vectors(longest_of(ends))
    values, nothing = np.empty(dim * room, np.float32), np.zeros(room, np.float32)
    to_keys, to_values = np.empty(dim * room, np.float32), np.empty(dim * room, np.float32)
    sloped = np.empty(heads * longest_of(starts) * room, np.float32)
    for clip in range(len(starts) - 1):
        count, place = ends[clip + 1] - ends[clip], ends[clip] * 2 * dim
        line = in_vectors(count)
        turn(both, place + dim, count, line, dim, values)
        to_keys[: dim * line] = 0
        to_values[: dim * line] = 0
        queries = starts[clip] * dim, starts[clip + 1] * dim
        to = 0
        for row in range(*queries, part):
            start = row % dim * line
            fill_dots(slopes, row, part, scale, values, start, nothing, line, sloped, to)
            add_outer(slopes, row, part, shares, at + to, line, to_values, start)
            to += line
        for share in range(0, to, line):
            soften_back(shares, at + share, line, sloped, share)
        at += to
        to = 0
        for row in range(*queries, part):
            add_outer(query, row, part, sloped, to, line, to_keys, row % dim * line)
            mix_rows(sloped, to, count, both, place + row % dim, 2 * dim, part, to_query, row)
            to += line
        for m in range(count):
            row = place + m * 2 * dim
            for k in range(dim):
                to_both[row + k] = to_keys[k * line + m]
                to_both[row + dim + k] = to_values[k * line + m]


@compiled
@no_type_check
def longest_of(ends):
    """Rows of the longest clip."""
    most = 0
    for clip in range(len(ends) - 1):
        most = max(most, ends[clip + 1] - ends[clip])
    return most


@compiled
@no_type_check
def turn(both, place, count, line, dim, lines):
    """A line for each number of some rows; zeros beyond the rows."""
    lines[: dim * line] = 0
    for m in range(count):
        row = place + m * 2 * dim
        for k in range(dim):
            lines[k * line + m] = both[row + k]


@inlined
@no_type_check
def fill_dots(numbers, row, part, scale, lines, start, first, line, out, at):
    """Fills a line of ``out``: ``first`` and the sum of all numbers of a part times their lines."""
    for lane in range(0, line, LANES):
        total, place = load(first, lane), start + lane
        for k in range(part):
            factor = everywhere(number_at(numbers, row + k) * scale)
            total = plus_product(total, factor, load(lines, place))
            place += line
        store(total, out, at + lane)


@inlined
@no_type_check
def soften(shares, at, line):
    """Turns a line of scores into their softmax."""
    top, total = everywhere(CLOSED), everywhere(NONE)
    for lane in range(at, at + line, LANES):
        top = larger(top, load(shares, lane))
    minus = everywhere(-largest_of_lanes(top))
    for lane in range(at, at + line, LANES):
        share = exponential_of(plus(load(shares, lane), minus))
        store(share, shares, lane)
        total = plus(total, share)
    inverse = everywhere(np.float32(1) / sum_of_lanes(total))
    for lane in range(at, at + line, LANES):
        store(times(load(shares, lane), inverse), shares, lane)


@inlined
@no_type_check
def soften_back(shares, at, line, sloped, to):
    """Turns slopes of a softmax into slopes of its scores."""
    along = everywhere(NONE)
    for lane in range(0, line, LANES):
        along = plus_product(along, load(sloped, to + lane), load(shares, at + lane))
    minus = everywhere(-sum_of_lanes(along))
    for lane in range(0, line, LANES):
        slope = plus(load(sloped, to + lane), minus)
        store(times(slope, load(shares, at + lane)), sloped, to + lane)


@inlined
@no_type_check
def add_outer(numbers, row, part, vector, at, line, lines, start):
    """Adds each number times the vector to its line."""
    for lane in range(0, line, LANES):
        one, place = load(vector, at + lane), start + lane
        for k in range(part):
            factor = everywhere(number_at(numbers, row + k))
            store(plus_product(load(lines, place), factor, one), lines, place)
            place += line


@inlined
@no_type_check
def mix_rows(shares, at, count, rows, place, down, part, out, o):
    """Writes the sum of some rows, each times its share.

    Two sums at a time: each waits for the one before. A vector that is wider than the part writes
    into the next one, which comes later and overwrites it.
    """
    whole = count // 2 * 2
    for k in range(0, part, LANES):
        even = odd = everywhere(NONE)
        for m in range(0, whole, 2):
            here = place + m * down + k
            even = plus_product(even, everywhere(number_at(shares, at + m)), load(rows, here))
            here += down
            odd = plus_product(odd, everywhere(number_at(shares, at + m + 1)), load(rows, here))
        if whole < count:
            here = place + whole * down + k
            even = plus_product(even, everywhere(number_at(shares, at + whole)), load(rows, here))
        store(plus(even, odd), out, o + k)
