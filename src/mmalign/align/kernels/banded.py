"""Banded linear systems."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import lanes_of
from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.simd import eliminate


@compiled
@no_type_check
def line_of(width):
    """Numbers that a line of the matrix must hold: the band, and zeros to read beyond it."""
    return (2 * width + 15) // 8 * 8


@compiled
@no_type_check
def solve_laplacian(matrix, width, vector, size, noise):
    """Solves a banded system in place whose rows sum to 0 and whose off-diagonals are <= 0.

    ``matrix[j, d]`` is entry (j, j + d) for d >= 1. Elimination (LDL^T) leaves such a matrix such a
    matrix, so every pivot is the sum of what its row still shares with later columns. Taken so,
    instead of from the diagonal, nothing ever cancels, and blocks that hardly share any mass keep
    every digit of it (Grassmann, Taksar and Heyman's elimination). A block that shares no mass and
    misses none, up to ``noise``, has its last column pinned to 0.
    """
    line = matrix.shape[1]
    factors = np.zeros((size, width))
    inverse = np.empty(size)
    for j in range(size):
        # Line j loses what earlier lines share with it, the latest last: it is only just ready.
        reach = min(j, width - 1)
        at_factor, at_line = (j - reach) * width + reach, (j - reach) * line + reach
        for lane in range(0, width, lanes_of(matrix)):
            eliminate(
                factors, at_factor, width - 1, matrix, at_line + lane, line - 1, reach,
                matrix, j * line + lane,
            )  # fmt: skip
        value = vector[j]
        for s in range(reach, 0, -1):
            value += factors[j - s, s] * vector[j - s]
        vector[j] = value
        ahead = min(width - 1, size - 1 - j)
        pivot = 0.0
        for d in range(1, ahead + 1):
            pivot -= matrix[j, d]
        is_alone = pivot <= noise and abs(value) <= noise
        inverse[j] = 0.0 if is_alone or pivot == 0 else 1 / pivot
        for d in range(1, ahead + 1):
            factors[j, d] = -matrix[j, d] * inverse[j]
    for j in range(size - 1, -1, -1):
        value = vector[j] * inverse[j]
        for d in range(min(width - 1, size - 1 - j), 0, -1):
            value += factors[j, d] * vector[j + d]
        vector[j] = value
