"""The SIMD primitives that carry the whole compiled path.

LLVM does vectorise plain loops along time, but it keeps the sums in memory and spends as long on
setting up short loops as on running them; with the sums in a register both go two to three times
faster. A vector has 64 bytes and becomes whatever registers the CPU has. Arrays are walked flat;
nothing is checked: callers pad them so that whole vectors can be read and written.
"""

from contextlib import contextmanager
from typing import no_type_check

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

BYTES = 64  # of a vector: 16 float32 or 8 float64
FUSED = ("contract",)  # a product and a sum may become one instruction, nothing is reordered


@no_type_check
def _data(context, builder, array_type, array):
    return context.make_array(array_type)(context, builder, array).data


@no_type_check
def _vector_at(builder, data, index, lanes):
    """Pointer to the vector that starts at a flat index."""
    vector = ir.VectorType(data.type.pointee, lanes)
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


@contextmanager
@no_type_check
def _vectors_from(builder, count, lanes, *starts):
    """A loop over vectors that follow each other; gives the flat index of each, from its start."""
    with cgutils.for_range(builder, count) as loop:
        shift = builder.mul(loop.index, ir.Constant(count.type, lanes))
        yield [builder.add(start, shift) for start in starts]


@no_type_check
def _everywhere(builder, number, lanes):
    """A vector that holds one number in every lane."""
    undefined = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first_lane = ir.Constant(ir.IntType(32), 0)
    spread = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    vector = builder.insert_element(undefined, number, first_lane)
    return builder.shuffle_vector(vector, undefined, spread)


@no_type_check
def _accumulate(builder, start, count, indices, strides, term):
    """Adds term(indices + s strides) for s in 0 .. count-1 to ``start``, in a register."""

    def terms(*at):
        return [term(*at)]

    return _accumulate_many(builder, [start], count, indices, strides, terms)[0]


@no_type_check
def _accumulate_many(builder, starts, count, indices, strides, terms):
    """The same for several sums that walk together."""
    totals = [cgutils.alloca_once(builder, start.type) for start in starts]
    cursors = [cgutils.alloca_once(builder, index.type) for index in indices]
    for slot, value in zip(totals + cursors, [*starts, *indices], strict=True):
        builder.store(value, slot)
    with cgutils.for_range(builder, count):
        at = [builder.load(cursor) for cursor in cursors]
        for total, term in zip(totals, terms(*at), strict=True):
            builder.store(builder.fadd(builder.load(total), term, flags=FUSED), total)
        for cursor, index, stride in zip(cursors, at, strides, strict=True):
            builder.store(builder.add(index, stride), cursor)
    return [builder.load(total) for total in totals]


@no_type_check
def _slide(signature_of, context, builder, arguments, adds):
    left_type, _, _, right_type, _, _, _, out_type, _ = signature_of.args
    left, i, di, right, j, dj, count, out, o = arguments
    lanes = BYTES * 8 // left_type.dtype.bitwidth
    size = BYTES // lanes
    left = _data(context, builder, left_type, left)
    right = _data(context, builder, right_type, right)

    def product(at_left, at_right):
        a = builder.load(_vector_at(builder, left, at_left, lanes), align=size)
        b = builder.load(_vector_at(builder, right, at_right, lanes), align=size)
        return builder.fmul(a, b, flags=FUSED)

    place = _vector_at(builder, _data(context, builder, out_type, out), o, lanes)
    zero = ir.Constant(ir.VectorType(left.type.pointee, lanes), [0.0] * lanes)
    start = builder.load(place, align=size) if adds else zero
    total = _accumulate(builder, start, count, (i, j), (di, dj), product)
    builder.store(total, place, align=size)
    return context.get_dummy_value()


@intrinsic
@no_type_check
def sliding_dot(typing_context, left, i, di, right, j, dj, count, out, o):
    """out[o + lane] = sum over s < count of left[i + s di + lane] * right[j + s dj + lane]."""
    integers = (types.intp,) * 3
    signature = types.void(left, *integers[:2], right, *integers, out, types.intp)

    def generate(context, builder, signature, arguments):
        return _slide(signature, context, builder, arguments, adds=False)

    return signature, generate


@intrinsic
@no_type_check
def add_sliding_dot(typing_context, left, i, di, right, j, dj, count, out, o):
    """The same, added to what ``out`` holds."""
    integers = (types.intp,) * 3
    signature = types.void(left, *integers[:2], right, *integers, out, types.intp)

    def generate(context, builder, signature, arguments):
        return _slide(signature, context, builder, arguments, adds=True)

    return signature, generate


@intrinsic
@no_type_check
def eliminate(typing_context, factors, i, di, rows, j, dj, count, out, o):
    """out[o + lane] += sum over s < count of factors[i + s di] * rows[j + s dj + lane]."""
    integers = (types.intp,) * 3
    signature = types.void(factors, *integers[:2], rows, *integers, out, types.intp)

    def generate(context, builder, signature, arguments):
        factors_type, _, _, rows_type, _, _, _, out_type, _ = signature.args
        factors, i, di, rows, j, dj, count, out, o = arguments
        lanes = BYTES * 8 // rows_type.dtype.bitwidth
        size = BYTES // lanes
        factors = _data(context, builder, factors_type, factors)
        rows = _data(context, builder, rows_type, rows)

        def product(at_factor, at_row):
            factor = _everywhere(builder, builder.load(builder.gep(factors, [at_factor])), lanes)
            row = builder.load(_vector_at(builder, rows, at_row, lanes), align=size)
            return builder.fmul(factor, row, flags=FUSED)

        place = _vector_at(builder, _data(context, builder, out_type, out), o, lanes)
        start = builder.load(place, align=size)
        total = _accumulate(builder, start, count, (i, j), (di, dj), product)
        builder.store(total, place, align=size)
        return context.get_dummy_value()

    return signature, generate


TILE = 8  # rows of a tile: enough independent sums to hide the latency of an addition


@intrinsic
@no_type_check
def tile_products(typing_context, rows, i, di, columns, j, dj, count, start, out, o, do):
    """out[o + r do + lane] = start + sum of rows[i + r di + s] * columns[j + s dj + lane].

    For s < count and r < TILE: a small product of matrices, which reads every column vector once.
    """
    integers = (types.intp,) * 3
    signature = types.void(rows, *integers[:2], columns, *integers, rows.dtype, out, *integers[:2])

    def generate(context, builder, signature, arguments):
        rows_type, _, _, columns_type, _, _, _, _, out_type, _, _ = signature.args
        rows, i, di, columns, j, dj, count, start, out, o, do = arguments
        lanes = BYTES * 8 // rows_type.dtype.bitwidth
        size = BYTES // lanes
        rows = _data(context, builder, rows_type, rows)
        columns = _data(context, builder, columns_type, columns)
        out = _data(context, builder, out_type, out)
        firsts = _spaced(builder, i, di, TILE)

        def products(s, at_column):
            column = builder.load(_vector_at(builder, columns, at_column, lanes), align=size)
            for first in firsts:
                row = builder.load(builder.gep(rows, [builder.add(first, s)]))
                yield builder.fmul(_everywhere(builder, row, lanes), column, flags=FUSED)

        nought, one = ir.Constant(i.type, 0), ir.Constant(i.type, 1)
        walk = ((nought, j), (one, dj))
        starts = [_everywhere(builder, start, lanes)] * TILE
        totals = _accumulate_many(builder, starts, count, *walk, products)
        for total, place in zip(totals, _spaced(builder, o, do, TILE), strict=True):
            builder.store(total, _vector_at(builder, out, place, lanes), align=size)
        return context.get_dummy_value()

    return signature, generate


@no_type_check
def _spaced(builder, start, stride, count):
    """start, start + stride, and so on."""
    places = [start]
    for _ in range(count - 1):
        places.append(builder.add(places[-1], stride))
    return places


@intrinsic
@no_type_check
def power_of_two(typing_context, shifted):
    """2^k, where the lowest bits of the float64 ``shifted`` hold the integer k."""
    signature = types.float64(types.float64)

    def generate(context, builder, signature, arguments):
        integer = ir.IntType(64)
        bits = builder.bitcast(arguments[0], integer)
        bits = builder.add(bits, ir.Constant(integer, 1023))
        bits = builder.shl(bits, ir.Constant(integer, 52))
        return builder.bitcast(bits, ir.DoubleType())

    return signature, generate


@intrinsic
@no_type_check
def dot(typing_context, left, i, right, j, count):
    """Sum over s < count of left[i + s] * right[j + s], in whole vectors and a rest."""
    signature = left.dtype(left, types.intp, right, types.intp, types.intp)

    def generate(context, builder, signature, arguments):
        left_type, _, right_type, _, _ = signature.args
        left, i, right, j, count = arguments
        lanes = BYTES * 8 // left_type.dtype.bitwidth
        size = BYTES // lanes
        left = _data(context, builder, left_type, left)
        right = _data(context, builder, right_type, right)

        def vector_product(at_left, at_right):
            a = builder.load(_vector_at(builder, left, at_left, lanes), align=size)
            b = builder.load(_vector_at(builder, right, at_right, lanes), align=size)
            return builder.fmul(a, b, flags=FUSED)

        def product(at_left, at_right):
            a = builder.load(builder.gep(left, [at_left]))
            b = builder.load(builder.gep(right, [at_right]))
            return builder.fmul(a, b, flags=FUSED)

        zero = ir.Constant(ir.VectorType(left.type.pointee, lanes), [0.0] * lanes)
        many, one = ir.Constant(i.type, lanes), ir.Constant(i.type, 1)
        whole, rest = builder.udiv(count, many), builder.urem(count, many)
        total = _accumulate(builder, zero, whole, (i, j), (many, many), vector_product)
        total = _sum_of_lanes(builder, total, lanes)
        done = builder.mul(whole, many)
        starts = builder.add(i, done), builder.add(j, done)
        return _accumulate(builder, total, rest, starts, (one, one), product)

    return signature, generate


@no_type_check
def _sum_of_lanes(builder, vector, lanes):
    """Halves are added until one number is left."""
    while lanes > 1:
        lanes //= 2
        halves = [_lanes(builder, vector, range(start, start + lanes)) for start in (0, lanes)]
        vector = builder.fadd(*halves)
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


@no_type_check
def _lanes(builder, vector, chosen, other=None):
    """The chosen lanes of a vector, or of two that follow each other."""
    chosen = list(chosen)
    other = ir.Constant(vector.type, ir.Undefined) if other is None else other
    indices = ir.Constant(ir.VectorType(ir.IntType(32), len(chosen)), chosen)
    return builder.shuffle_vector(vector, other, indices)


@intrinsic
@no_type_check
def transpose(typing_context, given, i, di, out, o, do):
    """out[o + r do + lane] = given[i + lane di + r] for as many r as a vector has lanes."""
    integers = (types.intp,) * 2
    signature = types.void(given, *integers, out, *integers)

    def generate(context, builder, signature, arguments):
        given_type, _, _, out_type, _, _ = signature.args
        given, i, di, out, o, do = arguments
        lanes = BYTES * 8 // given_type.dtype.bitwidth
        size = BYTES // lanes
        given = _data(context, builder, given_type, given)
        out = _data(context, builder, out_type, out)
        rows = [
            builder.load(_vector_at(builder, given, place, lanes), align=size)
            for place in _spaced(builder, i, di, lanes)
        ]
        for row, place in zip(
            _transposed(builder, rows), _spaced(builder, o, do, lanes), strict=True
        ):
            builder.store(row, _vector_at(builder, out, place, lanes), align=size)
        return context.get_dummy_value()

    return signature, generate


@no_type_check
def _transposed(builder, rows):
    """Swaps the off-diagonal blocks of halves, of quarters, and so on down to single numbers."""
    lanes = len(rows)
    block = lanes // 2
    while block:
        upper = [lane if not lane & block else lane - block + lanes for lane in range(lanes)]
        lower = [lane if lane & block else lane + block for lane in range(lanes)]
        lower = [lane if not at & block else at + lanes for at, lane in enumerate(lower)]
        swapped = list(rows)
        for r in range(lanes):
            if not r & block:
                pair = rows[r], rows[r + block]
                swapped[r] = _lanes(builder, pair[0], upper, pair[1])
                swapped[r + block] = _lanes(builder, pair[0], lower, pair[1])
        rows = swapped
        block //= 2
    return rows


BLOCK = 4  # sums that walk together: each factor is read once for all of them


@intrinsic
@no_type_check
def laplacian_block(
    typing_context,
    plan, i, j, walk, count,
    factors, f, weights, w, back, lines,
    o, pivots,
):  # fmt: skip
    """A block of a line of a Laplacian: from the plan, less what earlier lines eliminate.

    For b < BLOCK, and a vector of eight clips in every place,

        weights[o + 8 b] = sum over s < count of plan[i + s walk] * plan[j + s walk + 8 b]
                         + sum over s < lines of factors[f + s back] * weights[w + s back + 8 b]

    and ``pivots`` grows by all of them.
    """
    integers = (types.intp,) * 4
    signature = types.void(
        plan, *integers, factors, types.intp, weights, *integers[:3], types.intp, pivots
    )

    def generate(context, builder, signature, arguments):
        plan, i, j, walk, count, factors, f, weights, w, back, lines, o, pivots = arguments
        kinds = signature.args
        lanes, size = 8, 8
        plan = _data(context, builder, kinds[0], plan)
        factors = _data(context, builder, kinds[5], factors)
        weights = _data(context, builder, kinds[7], weights)
        pivots = _data(context, builder, kinds[12], pivots)
        stride = ir.Constant(o.type, lanes)

        def load(data, at):
            return builder.load(_vector_at(builder, data, at, lanes), align=size)

        def products(left, right):
            def terms(at_left, at_right):
                factor = load(left, at_left)
                for place in _spaced(builder, at_right, stride, BLOCK):
                    yield builder.fmul(factor, load(right, place), flags=FUSED)

            return terms

        zero = ir.Constant(ir.VectorType(plan.type.pointee, lanes), [0.0] * lanes)
        totals = _accumulate_many(
            builder, [zero] * BLOCK, count, (i, j), (walk, walk), products(plan, plan)
        )
        totals = _accumulate_many(
            builder, totals, lines, (f, w), (back, back), products(factors, weights)
        )
        for total, place in zip(totals, _spaced(builder, o, stride, BLOCK), strict=True):
            builder.store(total, _vector_at(builder, weights, place, lanes), align=size)
        first, second, third, fourth = totals
        pivot = builder.fadd(builder.fadd(first, second), builder.fadd(third, fourth))
        place = _vector_at(builder, pivots, ir.Constant(o.type, 0), lanes)
        builder.store(builder.fadd(builder.load(place, align=size), pivot), place, align=size)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
@no_type_check
def scale_vectors(typing_context, band, o, columns, j, rows, i, count, out):
    """out[o + 8 s + lane] = band[o + 8 s + lane] * rows[i + lane] * columns[j + 8 s + lane]."""
    signature = types.void(band, types.intp, columns, types.intp, rows, types.intp, types.intp, out)

    def generate(context, builder, signature, arguments):
        band_type, _, columns_type, _, rows_type, _, _, out_type = signature.args
        band, o, columns, j, rows, i, count, out = arguments
        out = _data(context, builder, out_type, out)
        lanes = BYTES * 8 // band_type.dtype.bitwidth
        size = BYTES // lanes
        band = _data(context, builder, band_type, band)
        columns = _data(context, builder, columns_type, columns)
        rows = _data(context, builder, rows_type, rows)
        scale = builder.load(_vector_at(builder, rows, i, lanes), align=size)
        with _vectors_from(builder, count, lanes, o, j) as (at, at_column):
            given = _vector_at(builder, band, at, lanes)
            place = _vector_at(builder, out, at, lanes)
            column = _vector_at(builder, columns, at_column, lanes)
            share = builder.fmul(scale, builder.load(column, align=size))
            builder.store(builder.fmul(builder.load(given, align=size), share), place, align=size)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
@no_type_check
def scale_by(typing_context, given, i, factor, j, count, out, o):
    """out[o + 8 s + lane] = given[i + 8 s + lane] * factor[j + lane] for s < count."""
    integers = (types.intp,) * 2
    signature = types.void(given, types.intp, factor, *integers, out, types.intp)

    def generate(context, builder, signature, arguments):
        given_type, _, factor_type, _, _, out_type, _ = signature.args
        given, i, factor, j, count, out, o = arguments
        lanes, size = 8, 8
        given = _data(context, builder, given_type, given)
        factor = _data(context, builder, factor_type, factor)
        out = _data(context, builder, out_type, out)
        scale = builder.load(_vector_at(builder, factor, j, lanes), align=size)
        with _vectors_from(builder, count, lanes, i, o) as (at, at_out):
            vector = _vector_at(builder, given, at, lanes)
            place = _vector_at(builder, out, at_out, lanes)
            builder.store(builder.fmul(builder.load(vector, align=size), scale), place, align=size)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
@no_type_check
def largest_size(typing_context, values, i, count, out):
    """out[lane] = the largest absolute value of values[i + 8 s + lane] for s < count."""
    signature = types.void(values, types.intp, types.intp, out)

    def generate(context, builder, signature, arguments):
        values_type, _, _, out_type = signature.args
        values, i, count, out = arguments
        lanes, size = 8, 8
        values = _data(context, builder, values_type, values)
        zero = ir.Constant(ir.VectorType(values.type.pointee, lanes), [0.0] * lanes)
        largest = cgutils.alloca_once_value(builder, zero)
        with _vectors_from(builder, count, lanes, i) as (at,):
            vector = builder.load(_vector_at(builder, values, at, lanes), align=size)
            for value in (vector, builder.fneg(vector)):
                top = builder.load(largest)
                is_larger = builder.fcmp_ordered(">", value, top)
                builder.store(builder.select(is_larger, value, top), largest)
        place = _vector_at(
            builder, _data(context, builder, out_type, out), ir.Constant(i.type, 0), lanes
        )
        builder.store(builder.load(largest), place, align=size)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
@no_type_check
def invert_pivots(typing_context, pivots, values, v, noise, out, o):
    """out[o + lane] = 1 / pivots[lane], or 0 where pivot and value are but noise."""
    signature = types.void(pivots, values, types.intp, types.float64, out, types.intp)

    def generate(context, builder, signature, arguments):
        pivots_type, values_type, _, _, out_type, _ = signature.args
        pivots, values, v, noise, out, o = arguments
        lanes, size = 8, 8
        nought = ir.Constant(o.type, 0)

        def load(array_type, array, at):
            data = _data(context, builder, array_type, array)
            return builder.load(_vector_at(builder, data, at, lanes), align=size)

        pivot, value = load(pivots_type, pivots, nought), load(values_type, values, v)
        one, zero = (ir.Constant(pivot.type, [number] * lanes) for number in (1.0, 0.0))
        noise = _everywhere(builder, noise, lanes)
        is_alone = builder.fcmp_ordered("<=", pivot, noise)
        for size_of in (value, builder.fneg(value)):
            is_alone = builder.and_(is_alone, builder.fcmp_ordered("<=", size_of, noise))
        is_alone = builder.or_(is_alone, builder.fcmp_ordered("==", pivot, zero))
        inverse = builder.select(is_alone, zero, builder.fdiv(one, pivot))
        place = _vector_at(builder, _data(context, builder, out_type, out), o, lanes)
        builder.store(inverse, place, align=size)
        return context.get_dummy_value()

    return signature, generate
