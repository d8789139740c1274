"""Products of the taps network's steps, which have room that whole tiles may touch."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.tiled import LANES, TOUCHED, fill_products

SPARE = TOUCHED + 1 + LANES
"""Rows beyond the last one that may be touched: sums are written in whole tiles and vectors."""


@compiled
@no_type_check
def room_for(rows, wide):
    """An array of rows that whole tiles can be written to, and vectors read from."""
    return np.empty((rows + SPARE, wide), np.float32)


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
