"""Loops that carry the compiled path: their sums stay in registers, and are taken in one order."""

from typing import no_type_check

from mmalign.align.kernels.jit import inlined
from mmalign.align.kernels.simd import (
    BYTES,
    everywhere,
    load,
    number_at,
    plus,
    plus_product,
    store,
    sum_of_lanes,
)

TILE = 8
"""Rows of a tile: enough independent sums to hide the latency of an addition."""


@inlined
@no_type_check
def slide(total, left, i, di, right, j, dj, count):
    """Total + sum over s < count of left[i + s di + lane] * right[j + s dj + lane]."""
    for s in range(count):
        total = plus_product(total, load(left, i + s * di), load(right, j + s * dj))
    return total


@inlined
@no_type_check
def sliding_dot(left, i, di, right, j, dj, count, out, o):
    """out[o + lane] = sum over s < count of left[i + s di + lane] * right[j + s dj + lane]."""
    nothing = everywhere(left.dtype.type(0))
    store(slide(nothing, left, i, di, right, j, dj, count), out, o)


@inlined
@no_type_check
def add_sliding_dot(left, i, di, right, j, dj, count, out, o):
    """The same, added to what ``out`` holds."""
    store(slide(load(out, o), left, i, di, right, j, dj, count), out, o)


@inlined
@no_type_check
def eliminate(factors, i, di, rows, j, dj, count, out, o):
    """out[o + lane] += sum over s < count of factors[i + s di] * rows[j + s dj + lane]."""
    total = load(out, o)
    for s in range(count):
        factor = everywhere(number_at(factors, i + s * di))
        total = plus_product(total, factor, load(rows, j + s * dj))
    store(total, out, o)


@inlined
@no_type_check
def total_of(numbers, i, count):
    """Sum over s < count of numbers[i + s], in whole vectors and a rest."""
    lanes = BYTES // numbers.itemsize
    whole = count // lanes * lanes
    vector = everywhere(numbers.dtype.type(0))
    for s in range(0, whole, lanes):
        vector = plus(vector, load(numbers, i + s))
    total = sum_of_lanes(vector)
    for s in range(whole, count):
        total += number_at(numbers, i + s)
    return total


@inlined
@no_type_check
def dot(left, i, right, j, count):
    """Sum over s < count of left[i + s] * right[j + s], in whole vectors and a rest."""
    lanes = BYTES // left.itemsize
    whole = count // lanes
    nothing = everywhere(left.dtype.type(0))
    total = sum_of_lanes(slide(nothing, left, i, lanes, right, j, lanes, whole))
    for s in range(whole * lanes, count):
        total += number_at(left, i + s) * number_at(right, j + s)
    return total


@inlined
@no_type_check
def tile_products(rows, i, di, columns, j, dj, count, start, out, o, do):
    """out[o + r do + lane] = start + sum of rows[i + r di + s] * columns[j + s dj + lane].

    For s < count and r < TILE: a small product of matrices, which reads every column vector once.
    """
    a = b = c = d = e = f = g = h = everywhere(start)
    for s in range(count):
        column, at = load(columns, j + s * dj), i + s
        a = plus_product(a, everywhere(number_at(rows, at)), column)
        b = plus_product(b, everywhere(number_at(rows, at + di)), column)
        c = plus_product(c, everywhere(number_at(rows, at + 2 * di)), column)
        d = plus_product(d, everywhere(number_at(rows, at + 3 * di)), column)
        e = plus_product(e, everywhere(number_at(rows, at + 4 * di)), column)
        f = plus_product(f, everywhere(number_at(rows, at + 5 * di)), column)
        g = plus_product(g, everywhere(number_at(rows, at + 6 * di)), column)
        h = plus_product(h, everywhere(number_at(rows, at + 7 * di)), column)
    for total in (a, b, c, d, e, f, g, h):
        store(total, out, o)
        o += do
