"""Products of the taps network's small matrices: sums stay in registers, rows are read in place.

BLAS packs both matrices before it multiplies, which takes as long as the product when one of them
has 16 or 48 columns. Here rows may overlap and a sum may come in turns, so that a convolution is
one product, without its windows being written out.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.tiles import HAS_MANY_REGISTERS, tile
from mmalign.experts.layout import LANES

ROWS = 6
"""Rows of a tile whose sums are in registers at once."""
ROWS_OF_ONE = 8 if HAS_MANY_REGISTERS else 6
"""The same if it is one vector wide: a sum waits for the one before, so that many hide the wait."""

SPARE = ROWS_OF_ONE + LANES
"""Rows beyond the last one that may be touched: sums are written in whole tiles and vectors."""

fill_one, fill_two, fill_three = tile(ROWS_OF_ONE, 1), tile(ROWS, 2), tile(ROWS, 3)


@compiled
@no_type_check
def fill_products(a, at, down, along, b, b_at, line, turns, vectors, out, o, wide, rows):
    """Fills rows of ``out`` with sums of products; row r begins at ``o + r wide``.

    See `tile` for what is added up, and for ``turns`` and ``vectors``. Up to seven more rows are
    read and written.
    """
    left = len(vectors)
    while left:
        column = len(vectors) - left
        wanted = b, b_at, line, turns, vectors, column, out
        if HAS_MANY_REGISTERS and left % 3 == 0:
            for row in range(0, rows, ROWS):
                fill_three(a, at + row * down, down, along, *wanted, o + row * wide, wide)
            left -= 3
        elif HAS_MANY_REGISTERS and left >= 2:
            for row in range(0, rows, ROWS):
                fill_two(a, at + row * down, down, along, *wanted, o + row * wide, wide)
            left -= 2
        else:
            for row in range(0, rows, ROWS_OF_ONE):
                fill_one(a, at + row * down, down, along, *wanted, o + row * wide, wide)
            left -= 1


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
def side_by_side(numbers):
    """Vectors that lie side by side, in a matrix and in its products."""
    vectors = np.empty((numbers // LANES, 2), np.int64)
    for c in range(len(vectors)):
        vectors[c] = c * LANES
    return vectors


@compiled
@no_type_check
def add_transposed_product(left, right, turns, vectors, rows, total, first):
    """Adds left' right to a matrix that is a part of ``total``.

    Args:
        left: Steps; as many of their numbers as the matrix has rows are read.
        right: Steps.
        turns: See `tile`: which steps.
        vectors: See `tile`: which numbers of the steps on the right; the matrix has no others.
        rows: Of the matrix.
        total: What is added to, from place ``first`` on.
        first: Where the matrix begins.
    """
    wide = len(vectors) * LANES
    found = room_for(rows, wide)
    fill_products(
        *(left, 0, 1, left.shape[1], right, 0, right.shape[1], turns, vectors),
        *(found, 0, wide, rows),
    )
    for row in range(rows):
        line = first + row * wide
        for k in range(wide):
            total[line + k] += found[row, k]
