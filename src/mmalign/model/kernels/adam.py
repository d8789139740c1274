"""Adam with decoupled weight decay over flat weights."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.loops import dot

SLOWLY = np.float32(1e-8)
"""What keeps a step finite where slopes are 0."""


@compiled
@no_type_check
def adam(weights, slopes, means, squares, rate, decay, first, second, count, share):
    """Takes step number ``count``, in place, by slopes of which each counts a ``share``.

    ``first`` and ``second`` say how slowly the means of slopes and of their squares follow.
    """
    size = rate / (np.float32(1) - first**count)
    root = np.sqrt(np.float32(1) - second**count)
    for k in range(len(weights)):
        slope = share * slopes[k]
        means[k] = first * means[k] + (np.float32(1) - first) * slope
        squares[k] = second * squares[k] + (np.float32(1) - second) * slope * slope
        weights[k] -= rate * decay * weights[k]
        weights[k] -= size * means[k] / (np.sqrt(squares[k]) / root + SLOWLY)


@compiled
@no_type_check
def share_of(norm, most):
    """What slopes are multiplied by so that their norm is not above ``most``."""
    return min(np.float32(most) / (np.float32(norm) + np.float32(1e-6)), np.float32(1))


@compiled
@no_type_check
def adam_of_parts(
    weights, slopes, means, squares, bounds, is_moved, counts, rate, decay, first, second, most
):  # fmt: skip
    """Takes a step of those parts of the weights that are moved; gives the norm of their slopes.

    Each part has a count of its own steps. Nothing is changed if the norm is not finite.
    """
    total = 0.0
    for part in range(len(counts)):
        if is_moved[part]:
            own = slopes[bounds[part] : bounds[part + 1]]
            total += dot(own, 0, own, 0, len(own))
    norm = np.sqrt(total)
    if not np.isfinite(norm):
        return norm
    share = share_of(norm, most)
    for part in range(len(counts)):
        if is_moved[part]:
            start, end = bounds[part], bounds[part + 1]
            counts[part] += 1
            adam(
                *(weights[start:end], slopes[start:end], means[start:end], squares[start:end]),
                *(rate, decay, first, second, counts[part], share),
            )
    return norm
