"""Products of small matrices with packed weights, as a prediction of one clip needs them.

Sequences are flat: ``wide`` numbers a row, which are ``dim`` numbers and zeros up to whole
vectors, and rows up to whole tiles. Weights are one flat array; a matrix in it has a line of
``wide`` numbers for each input, and is followed by its bias.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import in_vectors, lanes_of
from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.loops import dot, total_of
from mmalign.align.kernels.simd import (
    everywhere,
    larger,
    load,
    number_at,
    over,
    plus,
    plus_product,
    smaller,
    store,
    times,
)
from mmalign.align.kernels.tiles import HAS_MANY_REGISTERS

FEW = 4
"""Rows of a tile: with two registers a vector, their sums fit into the sixteen of most CPUs.

Where there are more, a tile of two vectors fits as well: twice as many sums hide how long each one
takes.
"""

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
    bias, lanes = at + inputs * wide, lanes_of(rows)
    paired = wide // (2 * lanes) * 2 * lanes if HAS_MANY_REGISTERS else 0
    for row in range(0, count, FEW):
        first, place = start + row * stride, o + row * wide
        for lane in range(0, paired, 2 * lanes):
            a = b = c = d = load(weights, bias + lane)
            e = f = g = h = load(weights, bias + lane + lanes)
            for s in range(inputs):
                here, there = first + s, at + s * wide + lane
                left, right = load(weights, there), load(weights, there + lanes)
                one, two = number_at(rows, here), number_at(rows, here + stride)
                a, e = both_plus(a, e, everywhere(one), left, right)
                b, f = both_plus(b, f, everywhere(two), left, right)
                one = number_at(rows, here + 2 * stride)
                two = number_at(rows, here + 3 * stride)
                c, g = both_plus(c, g, everywhere(one), left, right)
                d, h = both_plus(d, h, everywhere(two), left, right)
            store_rows(a, b, c, d, out, place + lane, wide)
            store_rows(e, f, g, h, out, place + lane + lanes, wide)
        for lane in range(paired, wide, lanes):
            a = b = c = d = load(weights, bias + lane)
            for s in range(inputs):
                line, here = load(weights, at + s * wide + lane), first + s
                a = plus_product(a, everywhere(number_at(rows, here)), line)
                b = plus_product(b, everywhere(number_at(rows, here + stride)), line)
                c = plus_product(c, everywhere(number_at(rows, here + 2 * stride)), line)
                d = plus_product(d, everywhere(number_at(rows, here + 3 * stride)), line)
            store_rows(a, b, c, d, out, place + lane, wide)


@inlined
@no_type_check
def both_plus(one, other, factor, left, right):
    """Two sums that grow by a factor times a vector each."""
    return plus_product(one, factor, left), plus_product(other, factor, right)


@inlined
@no_type_check
def store_rows(a, b, c, d, out, o, stride):
    """Writes the vectors of a tile's rows."""
    store(a, out, o)
    store(b, out, o + stride)
    store(c, out, o + 2 * stride)
    store(d, out, o + 3 * stride)


@compiled
@no_type_check
def linear_of_one(given, inputs, weights, at, outputs, out):
    """The same for one row, the first of both."""
    wide = in_vectors(outputs)
    copy_vectors(weights, at + inputs * wide, wide, out, 0)
    add_lines(given, 0, inputs, weights, at, wide, out, 0)


@inlined
@no_type_check
def copy_vectors(given, start, count, out, o):
    """Copies ``count`` numbers, which are whole vectors.

    Numba's assignment of a slice takes as long as the product of a matrix with 32 lines.
    """
    for k in range(0, count, lanes_of(given)):
        store(load(given, start + k), out, o + k)


@compiled
@no_type_check
def add_lines(given, start, inputs, weights, at, wide, out, o):
    """Adds each input times its line of weights.

    Four sums at a time, of two vectors and of even and odd inputs: each waits for the one before.
    """
    lanes = lanes_of(given)
    paired = wide // (2 * lanes) * 2 * lanes
    nothing = everywhere(given.dtype.type(0))
    last, whole = inputs - 1, inputs // 2 * 2
    for lane in range(0, paired, 2 * lanes):
        a, b, c, d = load(out, o + lane), nothing, load(out, o + lane + lanes), nothing
        for s in range(0, whole, 2):
            here, line = start + s, at + s * wide + lane
            even, odd = everywhere(number_at(given, here)), everywhere(number_at(given, here + 1))
            a, c = both_plus(a, c, even, load(weights, line), load(weights, line + lanes))
            line += wide
            b, d = both_plus(b, d, odd, load(weights, line), load(weights, line + lanes))
        if whole < inputs:
            even, line = everywhere(number_at(given, start + last)), at + last * wide + lane
            a, c = both_plus(a, c, even, load(weights, line), load(weights, line + lanes))
        store(plus(a, b), out, o + lane)
        store(plus(c, d), out, o + lane + lanes)
    for lane in range(paired, wide, lanes):
        a, b = load(out, o + lane), nothing
        for s in range(0, whole, 2):
            here, line = start + s, at + s * wide + lane
            a = plus_product(a, everywhere(number_at(given, here)), load(weights, line))
            b = plus_product(b, everywhere(number_at(given, here + 1)), load(weights, line + wide))
        if whole < inputs:
            line = at + last * wide + lane
            a = plus_product(a, everywhere(number_at(given, start + last)), load(weights, line))
        store(plus(a, b), out, o + lane)


@compiled
@no_type_check
def normalise(given, start, dim, weights, at, out, o):
    """Layer norm of one row; gain and bias stand at ``at``, ``wide`` numbers each.

    What fills a row up to whole vectors becomes 0, as its gain and bias are.
    """
    wide, lanes = in_vectors(dim), lanes_of(given)
    less = everywhere(-total_of(given, start, dim) / np.float32(dim))
    for k in range(0, wide, lanes):
        store(plus(load(given, start + k), less), out, o + k)
    variance = dot(out, o, out, o, dim) / np.float32(dim)
    scale = everywhere(np.float32(1) / np.sqrt(variance + SLIGHT))
    for k in range(0, wide, lanes):
        gain = times(load(out, o + k), scale)
        store(plus_product(load(weights, at + wide + k), gain, load(weights, at + k)), out, o + k)


@compiled
@no_type_check
def rectify(values, count):
    """Negative numbers become 0; a comparison becomes SIMD code, which `max` does not."""
    nothing = values.dtype.type(0)
    for k in range(count):
        values[k] = nothing if values[k] < nothing else values[k]


STEEP = np.float32(7.905311)
"""Beyond, a hyperbolic tangent of float32 is 1."""
ABOVE = tuple(
    np.float32(factor)
    for factor in (
        *(2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08),
        *(1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03),
    )
)
BELOW = tuple(
    np.float32(factor)
    for factor in (1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)
)
FIRST_ABOVE, FIRST_BELOW = np.float32(-2.76076847742355e-16), np.float32(1.19825839466702e-06)


@inlined
@no_type_check
def tanh_of(x):
    """The hyperbolic tangent within 3e-7, as a fraction that becomes SIMD code; NaN stays NaN."""
    y = min(max(x, -STEEP), STEEP)
    square = y * y
    above, below = FIRST_ABOVE, FIRST_BELOW
    for factor in ABOVE:
        above = above * square + factor
    for factor in BELOW:
        below = below * square + factor
    return y * above / below if x == x else x


@inlined
@no_type_check
def tanh_of_lanes(x):
    """The same for a vector."""
    y = smaller(larger(x, everywhere(-STEEP)), everywhere(STEEP))
    square = times(y, y)
    above, below = everywhere(FIRST_ABOVE), everywhere(FIRST_BELOW)
    for factor in ABOVE:
        above = plus_product(everywhere(factor), above, square)
    for factor in BELOW:
        below = plus_product(everywhere(factor), below, square)
    return over(times(y, above), below)
