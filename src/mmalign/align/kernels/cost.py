"""The cosine cost of a band, ready for the exponential."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import in_vectors, lanes_of
from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.loops import TILE, dot, eliminate, tile_products
from mmalign.align.kernels.simd import transpose


@compiled
@no_type_check
def line_of(width, lanes):
    """Places of a row of scores: its entries, and what :func:`row_products` spills beyond them."""
    return (width + TILE - 1 + lanes - 1) // lanes * lanes


@compiled
@no_type_check
def cosine_scores(source, target, n, m, window, first, epsilon, start, scores):
    """scores_ik = -cost_ik / epsilon for the rows from ``start`` on, and -inf outside.

    ``scores`` is ``[rows, line]``, a multiple of TILE rows; what a line holds after its entries has
    no meaning. Returns which side is not finite; 0: both are; 1: the source
    is not; 2: the target is not.
    """
    width, dim = 2 * window + 1, source.shape[1]
    rows = scores.shape[0]
    stop, origin = min(n, start + rows), first[start]
    reach = in_vectors(first[stop - 1] - origin + scores.shape[1])
    steps, others = np.empty((rows, dim), scores.dtype), np.empty((dim, reach), scores.dtype)
    sharpness = scores.dtype.type(1 / epsilon)
    if not gather_rows(source, start, stop, sharpness, steps, 0):
        return 1
    if not gather_columns(target, m, window, origin, others):
        return 2
    row_products(steps, others, first[start:stop], n == m, width, -sharpness, scores)
    for i in range(start, stop):
        if n != m or i < window or i >= n - window:
            low, high = ends_of_row(first[i], i, n, m, window)
            for k in range(width):
                if k < low or k >= high:
                    scores[i - start, k] = -np.inf
    for i in range(stop - start, rows):
        for k in range(width):
            scores[i, k] = -np.inf
    return 0


@compiled
@no_type_check
def ends_of_row(first, i, n, m, window):
    """The entries low .. high - 1 of row i lie inside window and sequence (design E13)."""
    last = min(((2 * i + 1) * m - n + 2 * n * window) // (2 * n), m - 1)
    return max(0, window - first), last + window - first + 1


@compiled
@no_type_check
def row_products(steps, others, first, is_square, width, start, products):
    """products_ik = start + <step i, other step at place first_i - first_0 + k>.

    Rows of a square band meet columns that move on by one a row, so that one small product of
    matrices holds TILE of them: four times as fast as walking along the diagonals (0.26 ms became
    0.07 ms for 2158 rows). Each row is written a place further left than the one before; what is
    left of its first entry spills into the end of the line before, which nobody reads.
    """
    dim, reach = others.shape
    line, lanes = products.shape[1], lanes_of(products)
    if is_square:
        for i in range(0, first.size, TILE):
            for lane in range(0, width + TILE - 1, lanes):
                tile_products(
                    steps, i * dim, dim, others, i + lane, reach, dim, start,
                    products, i * line + lane, line - 1,
                )  # fmt: skip
    else:
        for i in range(first.size):
            for k in range(line):
                products[i, k] = start
            for lane in range(0, width, lanes):
                eliminate(
                    steps, i * dim, 1, others, first[i] - first[0] + lane, reach, dim,
                    products, i * line + lane,
                )  # fmt: skip


@compiled
@no_type_check
def gather_rows(sequence, start, stop, length, steps, at):
    """Writes the steps start .. stop - 1 from line ``at`` on, scaled to ``length``; 0 stays 0.

    The other lines become 0. Returns whether all steps are finite.
    """
    dim, end = steps.shape[1], at + stop - start
    given, flat = sequence.reshape(-1)[start * dim : stop * dim], steps.reshape(-1)
    taken = flat[at * dim : end * dim]
    for place in range(given.size):
        taken[place] = given[place]
    flat[: at * dim] = 0
    flat[end * dim :] = 0
    squares = np.empty(stop - start, steps.dtype)
    sum_squares(steps, at, squares)
    if not are_certain(squares):
        for i in range(at, end):
            if not shrink(steps[i]):
                return False
        sum_squares(steps, at, squares)
    for i in range(squares.size):
        squares[i] = length / np.sqrt(squares[i]) if squares[i] > 0 else 0
    for i in range(squares.size):
        for d in range(dim):
            steps[at + i, d] *= squares[i]
    return True


@compiled
@no_type_check
def gather_columns(sequence, length, window, origin, others):
    """Writes the steps at the places from ``origin`` on as columns, scaled to length 1.

    There are zeros where there is no step. Returns whether all are finite.
    """
    dim, reach = others.shape
    lanes = lanes_of(others)
    low, high = max(0, origin - window), min(length, origin + reach - window)
    steps = np.empty((reach, dim), others.dtype)
    one = others.dtype.type(1)
    if not gather_rows(sequence, low, high, one, steps, low - origin + window):
        return False
    whole = dim // lanes * lanes
    for place in range(0, reach, lanes):
        for d in range(0, whole, lanes):
            transpose(steps, place * dim + d, dim, others, d * reach + place, reach)
    for d in range(whole, dim):
        for place in range(reach):
            others[d, place] = steps[place, d]
    return True


@compiled
@no_type_check
def sum_squares(steps, at, squares):
    """Squared length of every step from ``at`` on."""
    dim = steps.shape[1]
    for i in range(squares.size):
        squares[i] = dot(steps, (at + i) * dim, steps, (at + i) * dim, dim)


@compiled
@no_type_check
def are_certain(squares):
    """Whether nothing overflowed or vanished. A zero vector looks like one whose squares did."""
    huge = 1e100 if squares.itemsize == 8 else 1e30
    doubtful = 0
    for i in range(squares.size):
        doubtful += not (1 / huge < squares[i]) & (squares[i] < huge)
    return doubtful == 0


@compiled
@no_type_check
def shrink(step):
    """Divides by the largest entry, so that squares are in range; returns if all are finite."""
    largest = 0.0
    for d in range(step.size):
        size = abs(step[d])
        if not size < np.inf:
            return False
        largest = max(largest, size)
    for d in range(step.size if largest > 0 else 0):
        step[d] /= largest
    return True
