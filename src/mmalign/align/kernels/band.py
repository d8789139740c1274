"""Bands as the kernels keep them, and sums along their rows and columns.

A clip's band is ``[width, stride]``, one diagonal a line, with at least ``2 * window`` zeros after
row ``n - 1``. Vectors over columns begin ``window`` places early, so that entry ``k`` of row ``i``
meets place ``first[i] + k``; vectors over rows begin ``2 * window`` places early, so that a column
can look back over its whole window. Margins meet zeros of the band, and only have to be finite.
"""

from typing import no_type_check

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.loops import sliding_dot
from mmalign.align.kernels.simd import BYTES


@compiled
@no_type_check
def in_vectors(length):
    """The length rounded up to whole vectors of any dtype."""
    return (length + 15) // 16 * 16


@compiled
@no_type_check
def stride_of(n, window):
    """Places of a line of a band of ``n`` rows."""
    return in_vectors(n + 2 * window)


@compiled
@no_type_check
def places_of(n, m, window):
    """Places of a vector over rows or columns, with its margins."""
    return in_vectors(max(n, m) + 4 * window + 16)


@compiled
@no_type_check
def lanes_of(array):
    """Numbers in a vector."""
    return BYTES // array.itemsize


@compiled
@no_type_check
def first_places(n, m, window, first):
    """Where each row starts (design E13): ``i`` for equal lengths."""
    for i in range(n):
        centre = (2 * i + 1) * m - n
        first[i] = window - (2 * n * window - centre) // (2 * n)


@compiled
@no_type_check
def row_sums(band, first, n, m, columns, rows):
    """rows_i = sum_k band_ik columns_{first_i + k}."""
    width, stride = band.shape
    margin = width - 1
    if n == m:
        for i in range(0, n, lanes_of(band)):
            sliding_dot(band, i, stride, columns, i, 1, width, rows, margin + i)
    else:
        for i in range(n):
            total = band[0, i] * columns[first[i]]
            for k in range(1, width):
                total += band[k, i] * columns[first[i] + k]
            rows[margin + i] = total


@compiled
@no_type_check
def column_sums(band, first, n, m, rows, columns):
    """columns_j = sum of band_ik rows_i over the entries of column j."""
    width, stride = band.shape
    margin = width - 1
    if n == m:
        # Column j meets row j - k on diagonal k; where that is no row, band or margin hold 0.
        for j in range(0, n + margin, lanes_of(band)):
            sliding_dot(band, j, stride - 1, rows, margin + j, -1, width, columns, j)
    else:
        columns[:] = 0
        for i in range(n):
            for k in range(width):
                columns[first[i] + k] += band[k, i] * rows[margin + i]


@compiled
@no_type_check
def rescale(band, first, n, m, rows, columns):
    """band_ik *= rows_i columns_{first_i + k}."""
    width = band.shape[0]
    for k in range(width):
        diagonal, scale = band[k], rows[width - 1 :]
        if n == m:
            shifted = columns[k:]
            for i in range(n):
                diagonal[i] = diagonal[i] * scale[i] * shifted[i]
        else:
            for i in range(n):
                diagonal[i] = diagonal[i] * scale[i] * columns[first[i] + k]
