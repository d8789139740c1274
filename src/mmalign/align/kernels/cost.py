"""The cosine cost of a band, ready for the exponential."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import lanes_of, places_of
from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.simd import sliding_dot


@compiled
@no_type_check
def cosine_scores(source, target, n, m, window, first, epsilon, scores):
    """scores_ik = -cost_ik / epsilon, and -inf outside; returns which side is not finite.

    0: both are finite; 1: the source is not; 2: the target is not.
    """
    dim, places = source.shape[1], places_of(n, m, window)
    steps, others = np.empty((dim, places), scores.dtype), np.empty((dim, places), scores.dtype)
    step_scale, other_scale = np.empty(places, scores.dtype), np.empty(places, scores.dtype)
    if not gather_steps(source, n, 0, steps, step_scale):
        return 1
    if not gather_steps(target, m, window, others, other_scale):
        return 2
    inner_products(steps, others, n, m, first, scores)
    negate_cost(first, n, m, step_scale, other_scale, epsilon, scores)
    erase_outside(first, n, m, window, scores)
    return 0


@compiled
@no_type_check
def gather_steps(sequence, length, offset, steps, scale):
    """Writes steps as columns, from ``offset`` on, and what scales each to length 1 (or 0 to 0).

    Returns whether all steps are finite.
    """
    dim, places = steps.shape
    transpose(sequence, length, offset, steps)
    for i in range(0, places, lanes_of(steps)):
        sliding_dot(steps, i, places, steps, i, places, dim, scale, i)
    huge = 1e100 if steps.itemsize == 8 else 1e30
    doubtful = 0
    for i in range(offset, offset + length):
        # A zero vector is no doubt, but a vector whose squares vanish looks the same.
        doubtful += not (1 / huge < scale[i]) & (scale[i] < huge)
    if doubtful and not shrink_steps(steps, offset, length, scale):
        return False
    for i in range(places):
        scale[i] = 1 / np.sqrt(scale[i]) if scale[i] > 0 else 0
    return True


@compiled
@no_type_check
def transpose(sequence, length, offset, steps):
    """Writes steps as columns, from ``offset`` on, and 0 elsewhere."""
    steps[:] = 0
    for i in range(length):
        for d in range(steps.shape[0]):
            steps[d, i + offset] = sequence[i, d]


@compiled
@no_type_check
def shrink_steps(steps, offset, length, squares):
    """Divides each step by its largest entry, so that squares neither overflow nor vanish."""
    for i in range(offset, offset + length):
        largest = 0.0
        for d in range(steps.shape[0]):
            size = abs(steps[d, i])
            if not size < np.inf:
                return False
            largest = max(largest, size)
        squares[i] = 0
        for d in range(steps.shape[0] if largest > 0 else 0):
            steps[d, i] /= largest
            squares[i] += steps[d, i] * steps[d, i]
    return True


@compiled
@no_type_check
def inner_products(steps, others, n, m, first, band):
    """band_ik = <step i, other step at place first_i + k>."""
    dim, places = steps.shape
    width, stride = band.shape
    if n == m:
        for i in range(0, n, lanes_of(band)):
            for k in range(width):
                sliding_dot(steps, i, places, others, i + k, places, dim, band, k * stride + i)
    else:
        for i in range(n):
            for k in range(width):
                total = steps[0, i] * others[0, first[i] + k]
                for d in range(1, dim):
                    total += steps[d, i] * others[d, first[i] + k]
                band[k, i] = total


@compiled
@no_type_check
def negate_cost(first, n, m, step_scale, other_scale, epsilon, band):
    """Inner products become -(1 - cosine) / epsilon."""
    sharpness = band.dtype.type(1 / epsilon)
    for k in range(band.shape[0]):
        diagonal, shifted = band[k], other_scale[k:]
        for i in range(n):
            scale = shifted[i] if n == m else other_scale[first[i] + k]
            diagonal[i] = (diagonal[i] * step_scale[i] * scale - 1) * sharpness


@compiled
@no_type_check
def erase_outside(first, n, m, window, scores):
    """Entries outside the window or either sequence become -inf."""
    width = scores.shape[0]
    for k in range(width):
        scores[k, n:] = -np.inf
    for i in range(n):
        if n == m and window <= i < n - window:
            continue
        last = min(((2 * i + 1) * m - n + 2 * n * window) // (2 * n), m - 1)
        for k in range(last + window - first[i] + 1, width):
            scores[k, i] = -np.inf
        for k in range(window - first[i]):
            scores[k, i] = -np.inf
