"""Banded linear systems."""

from typing import no_type_check

from mmalign.align.kernels.band import lanes_of
from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.loops import eliminate


@compiled
@no_type_check
def line_of(width):
    """Numbers that a line of weights must hold: the band, and zeros to read beyond it."""
    return (2 * width + 15) // 8 * 8


@compiled
@no_type_check
def inverse_of(pivot, value, noise):
    """1 / pivot, or 0 where pivot and value are but noise."""
    is_alone = (pivot <= noise) & (abs(value) <= noise)
    return 0.0 if is_alone | (pivot == 0) else 1 / pivot


@compiled
@no_type_check
def eliminate_lines(weights, start, stop, width, noise, factors, inverse, vector):
    """Eliminates lines of a Laplacian (rows sum to 0, off-diagonals are <= 0) forward.

    ``weights[width - 1 + j - start, d]`` is minus the entry (j, j + d) for d >= 1; the lines before
    are those of the block before. Elimination (LDL^T) leaves such a matrix such a matrix, so every
    pivot is the sum of what its row still shares with later columns. Taken so, instead of from the
    diagonal, nothing ever cancels, and blocks that hardly share any mass keep every digit of it
    (Grassmann, Taksar and Heyman's elimination). A block that shares no mass and misses none, up to
    ``noise``, has its last column pinned to 0.
    """
    line, size = weights.shape[1], vector.size
    for j in range(start, stop):
        # Line j loses what earlier lines share with it, the latest last: it is only just ready.
        reach, own = min(j, width - 1), width - 1 + j - start
        at_factor, at_line = (j - reach) * width + reach, (own - reach) * line + reach
        for lane in range(0, width, lanes_of(weights)):
            eliminate(
                factors, at_factor, width - 1, weights, at_line + lane, line - 1, reach,
                weights, own * line + lane,
            )  # fmt: skip
        value = vector[j]
        for s in range(reach, 0, -1):
            value += factors[j - s, s] * vector[j - s]
        vector[j] = value
        ahead = min(width - 1, size - 1 - j)
        pivot = 0.0
        for d in range(1, ahead + 1):
            pivot += weights[own, d]
        inverse[j] = inverse_of(pivot, value, noise)
        for d in range(1, ahead + 1):
            factors[j, d] = weights[own, d] * inverse[j]


@compiled
@no_type_check
def substitute_back(width, factors, inverse, vector):
    """Turns what the elimination left of the right-hand side into the solution."""
    size = vector.size
    for j in range(size - 1, -1, -1):
        value = vector[j] * inverse[j]
        for d in range(min(width - 1, size - 1 - j), 0, -1):
            value += factors[j, d] * vector[j + d]
        vector[j] = value
