"""Transformer layers over one clip: of a whole sequence over itself, and of [CLS] over another.

Packed weights of a layer: query, key, value, out, norm, widen, narrow, the second norm. Key and
value of a layer whose only query is [CLS] are kept by output, so that the memory need not be
multiplied by them: keys meet the query, and values the weighted mean, after the attention.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import in_vectors, lanes_of
from mmalign.align.kernels.exponential import short_exponential
from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.loops import dot
from mmalign.align.kernels.simd import (
    everywhere,
    larger,
    load,
    number_at,
    over,
    plus,
    plus_product,
    store,
    times,
)
from mmalign.model.kernels.products import (
    add_lines,
    copy_vectors,
    in_tiles,
    linear,
    linear_of_one,
    linear_size,
    normalise,
    rectify,
)

CLOSED = np.float32(-np.inf)


@compiled
@no_type_check
def layer_size(dim):
    """Numbers of a packed layer."""
    wide = in_vectors(dim)
    return (
        4 * linear_size(dim, dim) + 4 * wide + linear_size(dim, 4 * dim) + linear_size(4 * dim, dim)
    )


@compiled
@no_type_check
def read_itself(sequence, count, is_known, dim, heads, is_pre, weights, at):
    """``count`` rows of a sequence after one layer that reads those that are known, in place."""
    wide, one = in_vectors(dim), linear_size(dim, dim)
    norm = at + 4 * one
    widen = norm + 2 * wide
    narrow = widen + linear_size(dim, 4 * dim)
    second = narrow + linear_size(4 * dim, dim)
    rows = in_tiles(count)
    read = np.zeros(rows * wide, np.float32)
    if is_pre:
        for r in range(count):
            normalise(sequence, r * wide, dim, weights, norm, read, r * wide)
    else:
        copy_vectors(sequence, 0, count * wide, read, 0)
    query, key, value = np.empty((3, rows * wide), np.float32)
    linear(read, 0, wide, count, dim, weights, at, dim, query, 0)
    linear(read, 0, wide, count, dim, weights, at + one, dim, key, 0)
    linear(read, 0, wide, count, dim, weights, at + 2 * one, dim, value, 0)
    attend(query, key, value, count, is_known, dim, heads, read)
    linear(read, 0, wide, count, dim, weights, at + 3 * one, dim, query, 0)
    for k in range(count * wide):
        sequence[k] += query[k]
    copy_vectors(sequence, 0, count * wide, read, 0)
    if is_pre:
        for r in range(count):
            normalise(sequence, r * wide, dim, weights, second, read, r * wide)
    room = in_vectors(4 * dim)
    broad = np.empty(rows * room, np.float32)
    linear(read, 0, wide, count, dim, weights, widen, 4 * dim, broad, 0)
    rectify(broad, count * room)
    linear(broad, 0, room, count, 4 * dim, weights, narrow, dim, query, 0)
    if not is_pre:
        for r in range(count):
            normalise(sequence, r * wide, dim, weights, norm, sequence, r * wide)
    for k in range(count * wide):
        sequence[k] += query[k]


@compiled
@no_type_check
def attend(query, key, value, count, is_known, dim, heads, found):
    """Fills ``found``: the mean of the values, weighted by how well keys meet each query.

    The lanes of a vector are queries: no sum or maximum is taken across them.
    """
    wide, part, lanes = in_vectors(dim), dim // heads, lanes_of(query)
    scale, minus = np.float32(1 / np.sqrt(part)), everywhere(np.float32(-1))
    asked, said = np.zeros(dim * lanes, np.float32), np.empty(dim * lanes, np.float32)
    scores = np.empty(count * lanes, np.float32)
    rows = known_rows(is_known, count, wide)
    for first in range(0, count, lanes):
        few = min(lanes, count - first)
        for r in range(few):
            for k in range(dim):
                asked[k * lanes + r] = query[(first + r) * wide + k] * scale
        for head in range(heads):
            start, top = head * part, everywhere(CLOSED)
            for n in range(len(rows)):
                score, at = everywhere(np.float32(0)), rows[n] + start
                for k in range(part):
                    factor = everywhere(number_at(key, at + k))
                    score = plus_product(score, load(asked, (start + k) * lanes), factor)
                store(score, scores, n * lanes)
                top = larger(top, score)
            total = times(top, minus)
            for n in range(0, len(rows) * lanes, lanes):
                store(plus(load(scores, n), total), scores, n)
            short_exponential(scores, len(rows) * lanes)
            whole = everywhere(np.float32(0))
            for n in range(0, len(rows) * lanes, lanes):
                whole = plus(whole, load(scores, n))
            for k in range(start, start + part):
                total = everywhere(np.float32(0))
                for n in range(len(rows)):
                    factor = everywhere(number_at(value, rows[n] + k))
                    total = plus_product(total, load(scores, n * lanes), factor)
                store(over(total, whole), said, k * lanes)
        for r in range(few):
            for k in range(dim):
                found[(first + r) * wide + k] = said[k * lanes + r]


@compiled
@no_type_check
def known_rows(is_known, count, wide):
    """Where the rows of known steps begin."""
    rows, many = np.empty(count, np.int64), 0
    for m in range(count):
        if is_known[m]:
            rows[many] = m * wide
            many += 1
    return rows[:many]


@compiled
@no_type_check
def read_other(head, memory, start, count, dim, heads, is_pre, weights, at):
    """[CLS], ``wide`` numbers, after one layer that reads ``count`` rows of a memory, in place."""
    wide, one = in_vectors(dim), linear_size(dim, dim)
    norm = at + 4 * one
    widen = norm + 2 * wide
    narrow = widen + linear_size(dim, 4 * dim)
    second = narrow + linear_size(4 * dim, dim)
    read, found, query = np.zeros((3, wide), np.float32)
    copy_vectors(head, 0, wide, read, 0)
    if is_pre:
        normalise(head, 0, dim, weights, norm, read, 0)
        rows = np.zeros(count * wide, np.float32)
        for r in range(count):
            normalise(memory, start + r * wide, dim, weights, norm, rows, r * wide)
        memory, start = rows, 0
    linear_of_one(read, dim, weights, at, dim, query)
    look_up(query, memory, start, count, dim, heads, weights, at + one, read)
    linear_of_one(read, dim, weights, at + 3 * one, dim, found)
    for k in range(dim):
        head[k] += found[k]
    copy_vectors(head, 0, wide, read, 0)
    if is_pre:
        normalise(head, 0, dim, weights, second, read, 0)
    broad = np.empty(in_vectors(4 * dim), np.float32)
    linear_of_one(read, dim, weights, widen, 4 * dim, broad)
    rectify(broad, len(broad))
    linear_of_one(broad, 4 * dim, weights, narrow, dim, found)
    if not is_pre:
        normalise(head, 0, dim, weights, norm, head, 0)
    for k in range(dim):
        head[k] += found[k]


@compiled
@no_type_check
def look_up(query, memory, start, count, dim, heads, weights, at, found):
    """Fills ``found`` with what one query finds in all rows of a memory.

    The bias of the keys is left out: it adds the same to all scores of a query.
    """
    wide, part, line = in_vectors(dim), dim // heads, in_vectors(count)
    scale = np.float32(1 / np.sqrt(part))
    asked, mean = np.empty(wide, np.float32), np.empty(wide, np.float32)
    powers = np.empty(line, np.float32)
    values = at + linear_size(dim, dim)
    bias = values + dim * wide
    for head in range(heads):
        asked[:] = 0
        add_lines(query, head * part, part, weights, at + head * part * wide, wide, asked, 0)
        highest = CLOSED
        for m in range(count):
            powers[m] = dot(asked, 0, memory, start + m * wide, dim) * scale
            highest = max(highest, powers[m])
        for m in range(count):
            powers[m] -= highest
        short_exponential(powers, count)
        total = np.float32(0)
        mean[:] = 0
        for m in range(count):
            share = powers[m]
            total += share
            factor = everywhere(share)
            for k in range(0, wide, lanes_of(mean)):
                step = load(memory, start + m * wide + k)
                store(plus_product(load(mean, k), step, factor), mean, k)
        for k in range(head * part, head * part + part):
            value = dot(mean, 0, weights, values + k * wide, dim)
            found[k] = value / total + weights[bias + k]
