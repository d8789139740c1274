"""Products of small matrices: sums stay in registers, rows are read in place.

BLAS packs both matrices before it multiplies, which takes as long as the product when one of them
has 16 or 48 columns. Here rows may overlap and a sum may come in turns, so that a convolution is
one product, without its windows being written out.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.tiles import HAS_MANY_REGISTERS, tile

LANES = 16
"""Numbers of a vector."""

ROWS = 6
"""Rows of a tile whose sums are in registers at once."""
ROWS_OF_ONE = 8 if HAS_MANY_REGISTERS else 6
"""The same if it is one vector wide: a sum waits for the one before, so that many hide the wait."""

TOUCHED = ROWS_OF_ONE - 1
"""Rows beyond the last one that may be read and written: tiles are whole."""

sum_one, sum_two, sum_three = tile(ROWS_OF_ONE, 1), tile(ROWS, 2), tile(ROWS, 3)


@compiled
@no_type_check
def sum_products(
    a, at, down, along, b, b_at, line, turns, vectors, first, f, f_down, out, o, wide, rows
):  # fmt: skip
    """Fills rows of ``out`` with sums that begin with what ``first`` holds.

    Row r begins at ``o + r wide``. See `tile` for what is added up, and for ``turns`` and
    ``vectors``. ``TOUCHED`` more rows are read and written.
    """
    left = len(vectors)
    while left:
        column = len(vectors) - left
        wanted = b, b_at, line, turns, vectors, column, first
        if HAS_MANY_REGISTERS and left % 3 == 0:
            for row in range(0, rows, ROWS):
                start, place = f + row * f_down, o + row * wide
                sum_three(a, at + row * down, down, along, *wanted, start, f_down, out, place, wide)
            left -= 3
        elif HAS_MANY_REGISTERS and left >= 2:
            for row in range(0, rows, ROWS):
                start, place = f + row * f_down, o + row * wide
                sum_two(a, at + row * down, down, along, *wanted, start, f_down, out, place, wide)
            left -= 2
        else:
            for row in range(0, rows, ROWS_OF_ONE):
                start, place = f + row * f_down, o + row * wide
                sum_one(a, at + row * down, down, along, *wanted, start, f_down, out, place, wide)
            left -= 1


@compiled
@no_type_check
def fill_products(a, at, down, along, b, b_at, line, turns, vectors, out, o, wide, rows):
    """The same for sums that begin with nothing."""
    nothing = np.zeros(wide, a.dtype)
    sum_products(
        *(a, at, down, along, b, b_at, line, turns, vectors),
        *(nothing, 0, 0, out, o, wide, rows),
    )


@compiled
@no_type_check
def once(count):
    """One turn of so many products."""
    turns = np.zeros((1, 3), np.int64)
    turns[0, 2] = count
    return turns


@compiled
@no_type_check
def side_by_side(numbers):
    """Vectors that lie side by side, in a matrix and in its products."""
    vectors = np.empty((numbers // LANES, 2), np.int64)
    for c in range(len(vectors)):
        vectors[c] = c * LANES
    return vectors
