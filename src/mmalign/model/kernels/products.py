"""Products of small matrices with packed weights, as a prediction of one clip needs them.

Sequences are flat: ``wide`` numbers a row, which are ``dim`` numbers and zeros up to whole
vectors, and rows up to whole tiles. Weights are one flat array; a matrix in it has a line of
``wide`` numbers for each input, and is followed by its bias.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import in_vectors, lanes_of
from mmalign.align.kernels.jit import compiled, inlined, reordered
from mmalign.align.kernels.simd import everywhere, load, number_at, plus, plus_product, store

FEW = 4
"""Rows of a tile: with two registers a vector, their sums fit into the sixteen of most CPUs."""

SLIGHT = np.float32(1e-5)
"""What a variance is raised by, as in torch's layer norm."""


@compiled
@no_type_check
def in_tiles(rows):
    """The number of rows rounded up to whole tiles."""
    return (rows + FEW - 1) // FEW * FEW


@compiled
@no_type_check
def linear_size(inputs, outputs):
    """Numbers of a packed linear layer."""
    return (inputs + 1) * in_vectors(outputs)


@compiled
@no_type_check
def linear(rows, start, stride, count, inputs, weights, at, outputs, out, o):
    """Writes rows times the matrix at ``at``, and its bias, from place ``o`` of ``out`` on.

    Row r starts at ``start + r stride``, so that rows may overlap. Whole tiles are written.
    """
    wide = in_vectors(outputs)
    bias = at + inputs * wide
    for row in range(0, count, FEW):
        first, place = start + row * stride, o + row * wide
        for lane in range(0, wide, lanes_of(rows)):
            a = b = c = d = load(weights, bias + lane)
            for s in range(inputs):
                line, here = load(weights, at + s * wide + lane), first + s
                a = plus_product(a, everywhere(number_at(rows, here)), line)
                b = plus_product(b, everywhere(number_at(rows, here + stride)), line)
                c = plus_product(c, everywhere(number_at(rows, here + 2 * stride)), line)
                d = plus_product(d, everywhere(number_at(rows, here + 3 * stride)), line)
            store(a, out, place + lane)
            store(b, out, place + wide + lane)
            store(c, out, place + 2 * wide + lane)
            store(d, out, place + 3 * wide + lane)


@compiled
@no_type_check
def linear_of_one(given, start, inputs, weights, at, outputs, out, o):
    """The same for one row."""
    wide = in_vectors(outputs)
    out[o : o + wide] = weights[at + inputs * wide : at + (inputs + 1) * wide]
    add_lines(given, start, inputs, weights, at, wide, out, o)


@compiled
@no_type_check
def add_lines(given, start, inputs, weights, at, wide, out, o):
    """Adds each input times its line of weights; two sums, as each waits for the one before."""
    for lane in range(0, wide, lanes_of(given)):
        a, b = load(out, o + lane), everywhere(np.float32(0))
        for s in range(0, inputs - 1, 2):
            line = at + s * wide + lane
            a = plus_product(a, everywhere(number_at(given, start + s)), load(weights, line))
            b = plus_product(
                b, everywhere(number_at(given, start + s + 1)), load(weights, line + wide)
            )
        if inputs % 2:
            line = at + (inputs - 1) * wide + lane
            last = everywhere(number_at(given, start + inputs - 1))
            a = plus_product(a, last, load(weights, line))
        store(plus(a, b), out, o + lane)


@reordered
@no_type_check
def normalise(given, start, dim, weights, at, out, o):
    """Layer norm of one row; gain and bias stand at ``at``, ``wide`` numbers each."""
    wide = in_vectors(dim)
    total = np.float32(0)
    for k in range(dim):
        total += given[start + k]
    mean = total / np.float32(dim)
    total = np.float32(0)
    for k in range(dim):
        total += (given[start + k] - mean) * (given[start + k] - mean)
    scale = np.float32(1) / np.sqrt(total / np.float32(dim) + SLIGHT)
    for k in range(dim):
        out[o + k] = (given[start + k] - mean) * scale * weights[at + k] + weights[at + wide + k]


@compiled
@no_type_check
def rectify(values, start, count):
    """Negative numbers become 0."""
    for k in range(start, start + count):
        values[k] = max(values[k], values.dtype.type(0))


@inlined
@no_type_check
def tanh_of(x):
    """The hyperbolic tangent within 3e-7, as a fraction that becomes SIMD code; NaN stays NaN."""
    y = min(max(x, np.float32(-7.905311)), np.float32(7.905311))
    square = y * y
    above = np.float32(-2.76076847742355e-16)
    above = above * square + np.float32(2.00018790482477e-13)
    above = above * square + np.float32(-8.60467152213735e-11)
    above = above * square + np.float32(5.12229709037114e-08)
    above = above * square + np.float32(1.48572235717979e-05)
    above = above * square + np.float32(6.37261928875436e-04)
    above = above * square + np.float32(4.89352455891786e-03)
    below = np.float32(1.19825839466702e-06)
    below = below * square + np.float32(1.18534705686654e-04)
    below = below * square + np.float32(2.26843463243900e-03)
    below = below * square + np.float32(4.89352518554385e-03)
    return y * above / below if x == x else x
