"""Sinkhorn's iterations: in the kernel domain while numbers allow, in the log domain always."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import column_sums, in_vectors, places_of, rescale, row_sums
from mmalign.align.kernels.exponential import exponential
from mmalign.align.kernels.jit import compiled


@compiled
@no_type_check
def scaling_plan(scores, first, n, m, window, iterations):
    """Turns scores into the plan after so many iterations; False if numbers left their range."""
    kernel_of(scores)
    places = places_of(n, m, window)
    rows, columns = np.zeros(places, scores.dtype), np.zeros(places, scores.dtype)
    if not scaling_sinkhorn(scores, first, n, m, window, iterations, rows, columns):
        return False
    rescale(scores, first, n, m, rows, columns)
    return True


@compiled
@no_type_check
def kernel_of(scores):
    """Scores become their exponentials, in place; 0 where they were -inf."""
    exponential(scores.reshape(-1))


@compiled
@no_type_check
def scaling_sinkhorn(kernel, first, n, m, window, iterations, rows, columns):
    """Multiplicative iterations (Eq. eq:skh_step1, eq:skh_step2; differs: E2, E4).

    Fills ``rows`` (u) and ``columns`` (v). Returns whether both ended in the range in which sums
    lose nothing to underflow; outside, they are clamped to it.
    """
    margin = kernel.shape[0] - 1
    real = kernel.dtype.type
    target, one = real(n / m), real(1)
    huge = real(1e250) if kernel.itemsize == 8 else real(1e30)
    sums = np.zeros(columns.size, columns.dtype)  # of rows, then of columns: never in place
    columns[window : window + m] = 1
    for _ in range(iterations):
        row_sums(kernel, first, n, m, columns, sums)
        invert(sums, margin, in_vectors(n), one, huge, rows)
        column_sums(kernel, first, n, m, rows, sums)
        invert(sums, window, in_vectors(m), target, huge, columns)
    outliers = 0
    for i in range(margin, margin + n):
        outliers += (rows[i] < one / huge) | (rows[i] >= huge)
    for j in range(window, window + m):
        outliers += (columns[j] < one / huge) | (columns[j] >= target * huge)
    return outliers == 0


@compiled
@no_type_check
def invert(sums, start, count, target, huge, scalings):
    """Writes target / sums to the places from ``start`` on; sums may be 0 in the margin."""
    tiny = 1 / huge
    for i in range(count):
        total = sums[start + i]
        scalings[start + i] = target / (total if total > tiny else tiny)


@compiled
@no_type_check
def log_plan(scores, first, n, m, window, iterations):
    """The same on logarithms, which no epsilon can break; scores become the plan."""
    rows, columns = np.zeros(n), np.zeros(places_of(n, m, window))
    for _ in range(iterations):
        row_potentials(scores, first, n, columns, rows)
        column_potentials(scores, first, n, m, window, rows, columns)
    for k in range(scores.shape[0]):
        for i in range(n):
            scores[k, i] += rows[i] + columns[first[i] + k]
    kernel_of(scores)


@compiled
@no_type_check
def row_potentials(scores, first, n, columns, rows):
    """rows_i = -log sum_k exp(scores_ik + columns_{first_i + k})."""
    width = scores.shape[0]
    terms = np.empty(width)
    for i in range(n):
        top = -np.inf
        for k in range(width):
            terms[k] = scores[k, i] + columns[first[i] + k]
            top = max(top, terms[k])
        total = 0.0
        for k in range(width):
            total += np.exp(terms[k] - top)
        rows[i] = -top - np.log(total)


@compiled
@no_type_check
def column_potentials(scores, first, n, m, window, rows, columns):
    """columns_j = log(n/m) - log sum_i exp(scores_ij + rows_i)."""
    width = scores.shape[0]
    top = np.full(columns.size, -np.inf)
    for i in range(n):
        for k in range(width):
            top[first[i] + k] = max(top[first[i] + k], scores[k, i] + rows[i])
    total = np.zeros(columns.size)
    for i in range(n):
        for k in range(width):
            if scores[k, i] > -np.inf:
                total[first[i] + k] += np.exp(scores[k, i] + rows[i] - top[first[i] + k])
    for j in range(window, window + m):
        columns[j] = np.log(n / m) - top[j] - np.log(total[j])


@compiled
@no_type_check
def softmax_rows(scores, first, n, sharpness, columns, band):
    """band_ik = exp(sharpness scores_ik + columns_{first_i + k}), each row scaled to sum to 1."""
    width = scores.shape[0]
    top, total = np.full(n, -np.inf), np.zeros(n)
    band[:] = -np.inf
    for k in range(width):
        for i in range(n):
            band[k, i] = sharpness * scores[k, i] + columns[first[i] + k]
            top[i] = max(top[i], band[k, i])
    for k in range(width):
        for i in range(n):
            band[k, i] -= top[i]
    kernel_of(band)
    for k in range(width):
        for i in range(n):
            total[i] += band[k, i]
    for k in range(width):
        for i in range(n):
            band[k, i] /= total[i]
