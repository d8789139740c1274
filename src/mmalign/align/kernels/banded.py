"""Symmetric banded linear systems."""

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
def solve_banded(matrix, width, vector, size, singular):
    """Solves in place by LDL^T, without square roots; ``matrix[j, d]`` is entry (j, j + d).

    A pivot below ``singular`` belongs to the null space, whose part of the answer is pinned to 0.
    """
    line = matrix.shape[1]
    factors = np.empty((size, width))
    inverse = np.empty(size)
    lanes = lanes_of(matrix)
    for j in range(size):
        # Line j loses what earlier lines share with it, the latest last: it is only just ready.
        reach = min(j, width - 1)
        at_factor, at_line = (j - reach) * width + reach, (j - reach) * line + reach
        for lane in range(0, width, lanes):
            eliminate(
                factors, at_factor, width - 1, matrix, at_line + lane, line - 1, reach,
                matrix, j * line + lane,
            )  # fmt: skip
        pivot = matrix[j, 0]
        inverse[j] = 1 / pivot if pivot > singular else 0.0
        for d in range(width):
            factors[j, d] = -matrix[j, d] * inverse[j]
        value = vector[j]
        for s in range(reach, 0, -1):
            value += factors[j - s, s] * vector[j - s]
        vector[j] = value
    for j in range(size - 1, -1, -1):
        value = vector[j] * inverse[j]
        for d in range(min(width - 1, size - 1 - j), 0, -1):
            value += factors[j, d] * vector[j + d]
        vector[j] = value
