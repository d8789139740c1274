"""Vectors that kernels keep in registers; `loops` holds the loops over them.

LLVM does vectorise plain loops along time, but it keeps the sums in memory and spends as long on
setting up short loops as on running them; with the sums in a register both go two to three times
faster. A vector has 64 bytes and becomes whatever registers the CPU has. Arrays are walked flat;
nothing is checked: callers pad them so that whole vectors can be read and written.
"""

from functools import wraps
from typing import no_type_check

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

BYTES = 64  # of a vector: 16 float32 or 8 float64
LANES = 8  # of a vector of float64
FUSED = ("contract",)  # a product and a sum may become one instruction, nothing is reordered


class Vector(types.Type):
    """Numbers side by side."""

    @no_type_check
    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Vector({dtype})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    @no_type_check
    def __init__(self, manager, kind):
        number = manager.lookup(kind.dtype).get_value_type()
        super().__init__(manager, kind, ir.VectorType(number, BYTES * 8 // kind.dtype.bitwidth))


@no_type_check
def place_of(context, builder, kind, array, at):
    """Pointer to the vector that starts at a flat index, and how it is aligned."""
    data = context.make_array(kind)(context, builder, array).data
    size = kind.dtype.bitwidth // 8
    vector = ir.VectorType(data.type.pointee, BYTES // size)
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer()), size


@no_type_check
def _lanes(builder, vector, chosen, other=None):
    """The chosen lanes of a vector, or of two that follow each other."""
    chosen = list(chosen)
    other = ir.Constant(vector.type, ir.Undefined) if other is None else other
    indices = ir.Constant(ir.VectorType(ir.IntType(32), len(chosen)), chosen)
    return builder.shuffle_vector(vector, other, indices)


@no_type_check
def spread(builder, number, kind):
    """A vector of that kind with one number in every lane."""
    undefined, first = ir.Constant(kind, ir.Undefined), ir.Constant(ir.IntType(32), 0)
    return _lanes(builder, builder.insert_element(undefined, number, first), [0] * kind.count)


@no_type_check
def add_product(builder, total, left, right):
    """Total + left * right, rounded once where the CPU can."""
    return builder.fadd(total, builder.fmul(left, right, flags=FUSED), flags=FUSED)


@intrinsic
@no_type_check
def load(typing_context, array, at):
    """The vector that starts at a flat index."""

    def generate(context, builder, signature, arguments):
        place, size = place_of(context, builder, signature.args[0], *arguments)
        return builder.load(place, align=size)

    return Vector(array.dtype)(array, types.intp), generate


@intrinsic
@no_type_check
def store(typing_context, vector, array, at):
    """Writes a vector to a flat index."""

    def generate(context, builder, signature, arguments):
        place, size = place_of(context, builder, signature.args[1], *arguments[1:])
        builder.store(arguments[0], place, align=size)
        return context.get_dummy_value()

    return types.void(vector, array, types.intp), generate


@intrinsic
@no_type_check
def number_at(typing_context, array, at):
    """The number at a flat index."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load(builder.gep(data, [arguments[1]]))

    return array.dtype(array, types.intp), generate


@intrinsic
@no_type_check
def everywhere(typing_context, number):
    """A vector that holds one number in every lane."""

    def generate(context, builder, signature, arguments):
        return spread(builder, *arguments, context.get_value_type(signature.return_type))

    return Vector(number)(number), generate


@no_type_check
def lanewise(compute):
    """The intrinsic that `compute` writes: vectors alike go in, one of the last one's kind out."""

    @wraps(compute)
    def typed(typing_context, *kinds):
        def generate(context, builder, signature, arguments):
            return compute(builder, *arguments)

        return kinds[-1](*kinds), generate

    return intrinsic(typed)


@lanewise
@no_type_check
def plus_product(builder, total, left, right):
    """Total + left * right."""
    return add_product(builder, total, left, right)


@lanewise
@no_type_check
def plus(builder, left, right):
    """Left + right."""
    return builder.fadd(left, right)


@lanewise
@no_type_check
def times(builder, left, right):
    """Left * right."""
    return builder.fmul(left, right)


@lanewise
@no_type_check
def over(builder, left, right):
    """Left / right."""
    return builder.fdiv(left, right)


@lanewise
@no_type_check
def plus_above(builder, total, vector, threshold):
    """Total + 1 in every lane where the vector exceeds the threshold."""
    is_above = builder.fcmp_ordered(">", vector, threshold)
    one, none = (ir.Constant(total.type, [number] * total.type.count) for number in (1.0, 0.0))
    return builder.fadd(total, builder.select(is_above, one, none))


@lanewise
@no_type_check
def larger(builder, left, right):
    """The larger number of each lane; the left one where one of them is NaN."""
    return builder.select(builder.fcmp_ordered(">", right, left), right, left)


@lanewise
@no_type_check
def smaller(builder, left, right):
    """The smaller number of each lane; the left one where one of them is NaN."""
    return builder.select(builder.fcmp_ordered("<", right, left), right, left)


@lanewise
@no_type_check
def where_positive(builder, sign, vector):
    """The vector, but 0 in every lane where ``sign`` is not above 0."""
    none = ir.Constant(vector.type, [0.0] * vector.type.count)
    return builder.select(builder.fcmp_ordered(">", sign, none), vector, none)


@lanewise
@no_type_check
def larger_size(builder, top, vector):
    """The larger of ``top`` and the absolute value; NaN is passed over."""
    for value in (vector, builder.fneg(vector)):
        top = builder.select(builder.fcmp_ordered(">", value, top), value, top)
    return top


@intrinsic
@no_type_check
def sum_of_lanes(typing_context, vector):
    """Halves are added until one number is left."""

    def generate(context, builder, signature, arguments):
        (vector,) = arguments
        lanes = vector.type.count
        while lanes > 1:
            lanes //= 2
            halves = [_lanes(builder, vector, range(start, start + lanes)) for start in (0, lanes)]
            vector = builder.fadd(*halves)
        return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))

    return vector.dtype(vector), generate


@intrinsic
@no_type_check
def largest_of_lanes(typing_context, vector):
    """The largest number, where none is NaN."""

    def generate(context, builder, signature, arguments):
        (vector,) = arguments
        lanes = vector.type.count
        while lanes > 1:
            lanes //= 2
            left, right = (
                _lanes(builder, vector, range(start, start + lanes)) for start in (0, lanes)
            )
            vector = builder.select(builder.fcmp_ordered(">", right, left), right, left)
        return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))

    return vector.dtype(vector), generate


@intrinsic
@no_type_check
def power_of_two(typing_context, shifted):
    """2^k, where the lowest bits of the float ``shifted`` hold the integer k; or of each lane."""

    def generate(context, builder, signature, arguments):
        kind = arguments[0].type
        number = getattr(kind, "element", kind)
        size, bias, mantissa = (64, 1023, 52) if number == ir.DoubleType() else (32, 127, 23)
        integer = ir.IntType(size)
        if number != kind:
            integer = ir.VectorType(integer, kind.count)
            bias, mantissa = [bias] * kind.count, [mantissa] * kind.count
        bits = builder.bitcast(arguments[0], integer)
        bits = builder.add(bits, ir.Constant(integer, bias))
        bits = builder.shl(bits, ir.Constant(integer, mantissa))
        return builder.bitcast(bits, kind)

    return shifted(shifted), generate


@intrinsic
@no_type_check
def transpose(typing_context, given, i, di, out, o, do):
    """out[o + r do + lane] = given[i + lane di + r] for as many r as a vector has lanes."""

    def generate(context, builder, signature, arguments):
        given, i, di, out, o, do = arguments
        lanes = BYTES * 8 // signature.args[0].dtype.bitwidth
        rows = []
        for _ in range(lanes):
            place, size = place_of(context, builder, signature.args[0], given, i)
            rows.append(builder.load(place, align=size))
            i = builder.add(i, di)
        for row in _transposed(builder, rows):
            place, size = place_of(context, builder, signature.args[3], out, o)
            builder.store(row, place, align=size)
            o = builder.add(o, do)
        return context.get_dummy_value()

    return types.void(given, types.intp, types.intp, out, types.intp, types.intp), generate


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
