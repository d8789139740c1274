"""Chance inside compiled loops: the same seed hits the same places, forward and back."""

from typing import no_type_check

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mmalign.align.kernels.simd import Vector, spread


@intrinsic
@no_type_check
def factors_at(typing_context, place, seed, dropped, louder):
    """What a vector of numbers from ``place`` on is multiplied by: 0 where dropout hits.

    The others are made ``louder``. A hash of place and seed decides; ``dropped`` of 256 numbers are
    hit.
    """

    @no_type_check
    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(signature.return_type)
        whole = ir.VectorType(ir.IntType(32), kind.count)
        place, seed, dropped = (spread(builder, number, whole) for number in arguments[:3])

        def every(number):
            return ir.Constant(whole, [number] * whole.count)

        x = builder.add(place, ir.Constant(whole, list(range(whole.count))))
        x = builder.add(builder.mul(x, every(0x9E3779B1)), seed)
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            x = builder.mul(builder.xor(x, builder.lshr(x, every(shift))), every(factor))
        is_kept = builder.icmp_unsigned(">=", builder.lshr(x, every(24)), dropped)
        none = ir.Constant(kind, None)
        return builder.select(is_kept, spread(builder, arguments[3], kind), none)

    kinds = types.uint32, types.uint32, types.uint32, types.float32
    return Vector(types.float32)(*kinds), generate
