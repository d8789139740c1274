"""Two SIMD primitives that carry the whole compiled path.

LLVM does vectorise plain loops along time, but it keeps the sums in memory and spends as long on
setting up short loops as on running them; with the sums in a register both go two to three times
faster. A vector has 64 bytes and becomes whatever registers the CPU has. Arrays are walked flat;
nothing is checked: callers pad them so that whole vectors can be read and written.
"""

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


@no_type_check
def _accumulate(builder, start, count, indices, strides, term):
    """Adds term(indices + s strides) for s in 0 .. count-1 to ``start``, in a register."""
    total = cgutils.alloca_once(builder, start.type)
    builder.store(start, total)
    cursors = [cgutils.alloca_once(builder, index.type) for index in indices]
    for cursor, index in zip(cursors, indices, strict=True):
        builder.store(index, cursor)
    with cgutils.for_range(builder, count):
        at = [builder.load(cursor) for cursor in cursors]
        builder.store(builder.fadd(builder.load(total), term(*at), flags=FUSED), total)
        for cursor, index, stride in zip(cursors, at, strides, strict=True):
            builder.store(builder.add(index, stride), cursor)
    return builder.load(total)


@intrinsic
@no_type_check
def sliding_dot(typing_context, left, i, di, right, j, dj, count, out, o):
    """out[o + lane] = sum over s < count of left[i + s di + lane] * right[j + s dj + lane]."""
    integers = (types.intp,) * 3
    signature = types.void(left, *integers[:2], right, *integers, out, types.intp)

    def generate(context, builder, signature, arguments):
        left_type, _, _, right_type, _, _, _, out_type, _ = signature.args
        left, i, di, right, j, dj, count, out, o = arguments
        lanes = BYTES * 8 // left_type.dtype.bitwidth
        size = BYTES // lanes
        left = _data(context, builder, left_type, left)
        right = _data(context, builder, right_type, right)

        def product(at_left, at_right):
            a = builder.load(_vector_at(builder, left, at_left, lanes), align=size)
            b = builder.load(_vector_at(builder, right, at_right, lanes), align=size)
            return builder.fmul(a, b, flags=FUSED)

        zero = ir.Constant(ir.VectorType(left.type.pointee, lanes), [0.0] * lanes)
        total = _accumulate(builder, zero, count, (i, j), (di, dj), product)
        place = _vector_at(builder, _data(context, builder, out_type, out), o, lanes)
        builder.store(total, place, align=size)
        return context.get_dummy_value()

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
        undefined = ir.Constant(ir.VectorType(rows.type.pointee, lanes), ir.Undefined)
        first_lane = ir.Constant(ir.IntType(32), 0)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)

        def product(at_factor, at_row):
            factor = builder.load(builder.gep(factors, [at_factor]))
            factor = builder.insert_element(undefined, factor, first_lane)
            factor = builder.shuffle_vector(factor, undefined, everywhere)
            row = builder.load(_vector_at(builder, rows, at_row, lanes), align=size)
            return builder.fmul(factor, row, flags=FUSED)

        place = _vector_at(builder, _data(context, builder, out_type, out), o, lanes)
        start = builder.load(place, align=size)
        total = _accumulate(builder, start, count, (i, j), (di, dj), product)
        builder.store(total, place, align=size)
        return context.get_dummy_value()

    return signature, generate
