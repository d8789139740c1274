"""Products of matrices in tiles: sums stay in registers while all products are added up."""

from types import SimpleNamespace
from typing import no_type_check

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mmalign.align.kernels.simd import Vector, add_product, spread

HAS_MANY_REGISTERS = bool(get_host_cpu_features().get("avx512f"))
"""Whether 32 vectors fit into registers, or eight."""

ARRAYS = ("a", "b", "turns", "vectors", "first", "out")
NAMES = (
    *("a", "at", "down", "along", "b", "b_at", "line", "turns", "vectors", "column"),
    *("first", "f", "f_down", "out", "o", "wide"),
)


@no_type_check
def tile(rows, columns):
    """An intrinsic that fills a tile of a product: so many rows, and columns of a vector each.

    ``vectors[c]`` says where column c begins in ``b`` and in ``out``. Number k of row r in it is
    ``first[f + r f_down + vectors[c, 1] + k]`` and the sum of
    ``a[at + r down + here + s along] * b[b_at + there + s line + vectors[c, 0] + k]``
    over s < count and all turns ``(here, there, count)``. It is written to
    ``out[o + r wide + vectors[c, 1] + k]``. Columns count from ``column`` on.
    """

    @intrinsic
    @no_type_check
    def fill(
        typing_context, a, at, down, along, b, b_at, line, turns, vectors, column, first, f, f_down,
        out, o, wide,
    ):  # fmt: skip
        def generate(context, builder, signature, arguments):
            given = dict(zip(NAMES, arguments, strict=True))
            for name in ARRAYS:
                array = signature.args[NAMES.index(name)]
                given[name] = context.make_array(array)(context, builder, given[name])
            vector = context.get_value_type(Vector(a.dtype))
            _Tile(builder, vector, rows, columns, SimpleNamespace(**given)).fill()
            return context.get_dummy_value()

        n = types.intp
        kinds = a, n, n, n, b, n, n, turns, vectors, n, first, n, n, out, n, n
        return types.void(*kinds), generate

    return fill


class _Tile:
    """Code that fills a tile, from what `tile` says is given."""

    @no_type_check
    def __init__(self, builder, vector, rows, columns, given):
        self.builder, self.vector, self.given = builder, vector, given
        self.rows, self.columns = range(rows), range(columns)
        columns_at = [self.times(self.plus(given.column, c), 2) for c in self.columns]
        self.sources = [self.number(given.vectors, at) for at in columns_at]
        self.targets = [self.number(given.vectors, at, 1) for at in columns_at]
        self.sums = [
            [cgutils.alloca_once(builder, vector) for _ in self.columns] for _ in self.rows
        ]

    @no_type_check
    def fill(self):
        """All products, then the tile is written."""
        given, builder = self.given, self.builder
        for place, total in self.places(given.first, given.f, given.f_down):
            builder.store(builder.load(place, align=self.size), total)
        count = builder.extract_value(given.turns.shape, 0)
        with cgutils.for_range(builder, count) as turn:
            place = self.times(turn.index, 3)
            first, second, steps = (self.number(given.turns, place, n) for n in range(3))
            with cgutils.for_range(builder, steps) as step:
                here = self.plus(given.at, first, self.times(step.index, given.along))
                there = self.plus(given.b_at, second, self.times(step.index, given.line))
                self.add_products(here, there)
        for place, total in self.places(given.out, given.o, given.wide):
            builder.store(builder.load(total), place, align=self.size)

    @no_type_check
    def places(self, array, start, down):
        """Where the vectors of a tile lie in an array, and their sums."""
        for r in self.rows:
            row = self.plus(start, self.times(down, r))
            for target, total in zip(self.targets, self.sums[r], strict=True):
                yield self.pointer(array, row, target), total

    @no_type_check
    def add_products(self, here, there):
        """One number of each row, times one line of the columns."""
        given, builder = self.given, self.builder
        lines = [self.pointer(given.b, there, start) for start in self.sources]
        lines = [builder.load(place, align=self.size) for place in lines]
        for r in self.rows:
            number = self.number(given.a, here, self.times(given.down, r))
            factor = spread(builder, number, self.vector)
            for line, total in zip(lines, self.sums[r], strict=True):
                builder.store(add_product(builder, builder.load(total), factor, line), total)

    @property
    @no_type_check
    def size(self):
        """Bytes of a number."""
        return 4 if self.vector.element == ir.FloatType() else 8

    @no_type_check
    def plus(self, *parts):
        """Their sum."""
        found, *rest = map(_whole, parts)
        for part in rest:
            found = self.builder.add(found, part)
        return found

    @no_type_check
    def times(self, left, right):
        """Their product."""
        return self.builder.mul(_whole(left), _whole(right))

    @no_type_check
    def number(self, array, *parts):
        """The number at a flat index, given in parts."""
        return self.builder.load(self.builder.gep(array.data, [self.plus(*parts)]))

    @no_type_check
    def pointer(self, array, *parts):
        """Where the vector starts that has a flat index, given in parts."""
        place = self.builder.gep(array.data, [self.plus(*parts)])
        return self.builder.bitcast(place, self.vector.as_pointer())


@no_type_check
def _whole(number):
    """A whole number as LLVM has it."""
    return ir.Constant(ir.IntType(64), number) if isinstance(number, int) else number
