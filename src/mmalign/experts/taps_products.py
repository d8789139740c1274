"""Products of the taps network's small matrices: sums stay in registers, rows are read in place.

BLAS packs both matrices before it multiplies, which takes as long as the product when one of them
has 16 or 48 columns. Here rows may overlap and a sum may come in turns, so that a convolution is
one product, without its windows being written out.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.simd import everywhere, load, number_at, plus_product, store
from mmalign.experts.layout import LANES

TILE = 6
"""Rows whose sums are in registers at once: of the sixteen that most CPUs have they take twelve."""

SPARE = TILE + LANES
"""Rows beyond the last one that may be touched: sums are written in whole tiles and vectors."""


@compiled
@no_type_check
def fill_products(a, at, down, along, b, b_at, line, turns, out, o, wide, rows, lanes):
    """Fills rows of ``out`` with sums of products; row r begins at ``o + r wide``.

    Its number k is the sum of ``a[at + r down + first + s along] * b[b_at + second + s line + k]``
    over s < count and all turns ``(first, second, count)``. Up to five more rows, and numbers up to
    a whole vector, are read and written.
    """
    for lane in range(0, lanes, LANES):
        for row in range(0, rows, TILE):
            p = q = r = s = t = u = everywhere(np.float32(0))
            for turn in range(len(turns)):
                here, there = at + row * down + turns[turn, 0], b_at + turns[turn, 1] + lane
                for _ in range(turns[turn, 2]):
                    column = load(b, there)
                    p = plus_product(p, everywhere(number_at(a, here)), column)
                    q = plus_product(q, everywhere(number_at(a, here + down)), column)
                    r = plus_product(r, everywhere(number_at(a, here + 2 * down)), column)
                    s = plus_product(s, everywhere(number_at(a, here + 3 * down)), column)
                    t = plus_product(t, everywhere(number_at(a, here + 4 * down)), column)
                    u = plus_product(u, everywhere(number_at(a, here + 5 * down)), column)
                    here += along
                    there += line
            place = o + row * wide + lane
            store(p, out, place)
            store(q, out, place + wide)
            store(r, out, place + 2 * wide)
            store(s, out, place + 3 * wide)
            store(t, out, place + 4 * wide)
            store(u, out, place + 5 * wide)


@compiled
@no_type_check
def once(count):
    """One turn of so many products."""
    turns = np.zeros((1, 3), np.int64)
    turns[0, 2] = count
    return turns


@compiled
@no_type_check
def room_for(rows, wide):
    """An array of rows that whole tiles can be written to, and vectors read from."""
    return np.empty((rows + SPARE, wide), np.float32)


@compiled
@no_type_check
def add_transposed_product(left, right, turns, shift, rows, columns, total, first, step):
    """Adds left' right to a matrix that is a part of ``total``.

    Args:
        left: Steps; as many of their numbers as the matrix has rows are read.
        right: Steps, from place ``shift`` on.
        turns: See `fill_products`: which steps.
        shift: Where ``right`` is read from.
        rows: Of the matrix.
        columns: Of the matrix.
        total: What is added to, from place ``first`` on.
        first: Where the matrix begins.
        step: From one row of the matrix to the next.
    """
    lanes = (columns + LANES - 1) // LANES * LANES
    found = room_for(rows, lanes)
    above, beside = left.shape[1], right.shape[1]
    fill_products(left, 0, 1, above, right, shift, beside, turns, found, 0, lanes, rows, lanes)
    for row in range(rows):
        line = first + row * step
        for k in range(columns):
            total[line + k] += found[row, k]
