"""Imputation and fit loss, forward and backward, straight on ``[time, width]`` plans."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import first_places, in_vectors, lanes_of, places_of
from mmalign.align.kernels.cost import line_of, row_products
from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.loops import dot, eliminate


@compiled
@no_type_check
def ends_of_rows(n, m, window, first, start, stop):
    """The entries ``start .. stop - 1`` of each row are inside (design E13)."""
    first_places(n, m, window, first)
    for i in range(n):
        last = min(((2 * i + 1) * m - n + 2 * n * window) // (2 * n), m - 1)
        start[i] = max(0, window - first[i])
        stop[i] = last + window - first[i] + 1


@compiled
@no_type_check
def impute_forward(mass, source, lengths, target_lengths, imputed, column_mass):
    """imputed_j = sum_i mass_ij source_i / column_mass_j; 0 where a column has no mass."""
    batch, time, width = mass.shape
    window = width // 2
    empty = np.finfo(mass.dtype).tiny
    first, start = np.empty(time, np.int64), np.empty(time, np.int64)
    stop = np.empty(time, np.int64)
    for clip in range(batch):
        n, m = lengths[clip], target_lengths[clip]
        ends_of_rows(n, m, window, first, start, stop)
        totals = column_mass[clip]
        totals[:] = 0
        for i in range(n):
            for k in range(start[i], stop[i]):
                totals[first[i] + k - window] += mass[clip, i, k]
        imputed[clip] = 0
        sum_columns(mass[clip], source[clip], n, m, first, start, stop, imputed[clip])
        for j in range(m):
            share = 1 / totals[j] if totals[j] >= empty else mass.dtype.type(0)
            for d in range(source.shape[2]):
                imputed[clip, j, d] *= share


@compiled
@no_type_check
def sum_columns(mass, source, n, m, first, start, stop, sums):
    """sums_j += sum_i mass_ij source_i."""
    width, dim = mass.shape[1], source.shape[1]
    window = width // 2
    whole = dim // lanes_of(mass) * lanes_of(mass) if n == m else 0
    for j in range(m if whole > 0 else 0):
        low, high = max(0, j - window), min(n, j + window + 1)
        at = low * width + j - low + window
        for d in range(0, whole, lanes_of(mass)):
            eliminate(
                mass, at, width - 1, source, low * dim + d, dim, high - low, sums, j * dim + d
            )
    if whole < dim:
        for i in range(n):
            for k in range(start[i], stop[i]):
                j, weight = first[i] + k - window, mass[i, k]
                for d in range(whole, dim):
                    sums[j, d] += weight * source[i, d]


@compiled
@no_type_check
def impute_backward(
    gradient, mass, source, lengths, target_lengths, imputed, column_mass, to_mass, to_source
):
    """Gradients of :func:`impute_forward`; ``gradient`` is overwritten.

    With G_j = gradient_j / column_mass_j: to_mass_ij = <G_j, source_i - imputed_j> and
    to_source_i = sum_j mass_ij G_j.
    """
    batch, time, width = mass.shape
    window, dim = width // 2, source.shape[2]
    empty = np.finfo(mass.dtype).tiny
    first, start = np.empty(time, np.int64), np.empty(time, np.int64)
    stop = np.empty(time, np.int64)
    for clip in range(batch):
        n, m = lengths[clip], target_lengths[clip]
        ends_of_rows(n, m, window, first, start, stop)
        for j in range(m):
            total = column_mass[clip, j]
            share = 1 / total if total >= empty else mass.dtype.type(0)
            for d in range(dim):
                gradient[clip, j, d] *= share
        to_source[clip] = 0
        sum_rows(mass[clip], gradient[clip], n, first, start, stop, to_source[clip])
        to_mass[clip] = 0
        correlate(
            source[clip], gradient[clip], imputed[clip], n, m, first, start, stop, to_mass[clip]
        )


@compiled
@no_type_check
def sum_rows(mass, gradient, n, first, start, stop, sums):
    """sums_i += sum_j mass_ij gradient_j."""
    width, dim = mass.shape[1], gradient.shape[1]
    window = width // 2
    whole = dim // lanes_of(mass) * lanes_of(mass)
    for i in range(n):
        low, count = start[i], stop[i] - start[i]
        at = (first[i] + low - window) * dim
        for d in range(0, whole, lanes_of(mass)):
            eliminate(mass, i * width + low, 1, gradient, at + d, dim, count, sums, i * dim + d)
        for k in range(low, stop[i] if whole < dim else low):
            j = first[i] + k - window
            for d in range(whole, dim):
                sums[i, d] += mass[i, k] * gradient[j, d]


@compiled
@no_type_check
def correlate(source, gradient, imputed, n, m, first, start, stop, to_mass):
    """to_mass_ik = <gradient_j, source_i - imputed_j>."""
    width, dim = to_mass.shape[1], source.shape[1]
    window = width // 2
    steps = np.zeros((in_vectors(n), dim), source.dtype)
    steps[:n] = source[:n]
    others = np.zeros((dim, places_of(n, m, window)), source.dtype)
    own = np.empty(m, source.dtype)
    for j in range(m):
        own[j] = dot(gradient[j], 0, imputed[j], 0, dim)
        place = j + window - first[0]
        for d in range(dim if place >= 0 else 0):
            others[d, place] = gradient[j, d]
    products = np.empty((in_vectors(n), line_of(width, lanes_of(source))), source.dtype)
    nothing = source.dtype.type(0)
    row_products(steps, others, first[:n], n == m, width, nothing, products)
    for i in range(n):
        for k in range(start[i], stop[i]):
            to_mass[i, k] = products[i, k] - own[first[i] + k - window]


@compiled
@no_type_check
def fit_loss_forward(predicted, plan, lengths, target_lengths, difference):
    """Writes predicted - plan (0 outside); returns its sum of squares and how many are inside."""
    batch, time, width = predicted.shape
    first, start = np.empty(time, np.int64), np.empty(time, np.int64)
    stop = np.empty(time, np.int64)
    total, count = 0.0, 0
    for clip in range(batch):
        n = lengths[clip]
        ends_of_rows(n, target_lengths[clip], width // 2, first, start, stop)
        for i in range(n):
            row_total = predicted.dtype.type(0)
            for k in range(width):
                difference[clip, i, k] = 0
            for k in range(start[i], stop[i]):
                gap = predicted[clip, i, k] - plan[clip, i, k]
                difference[clip, i, k] = gap
                row_total += gap * gap
            total += row_total
            count += stop[i] - start[i]
        difference[clip, n:] = 0
    return total, count
