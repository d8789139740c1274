"""Kernels as object code with plain entries, which runs without Numba.

Numba takes a second to be imported and set up, longer than many predictions; what it compiled does
not need it. Each kernel gets an entry that takes one table of 64-bit numbers: address and shape of
each array, and the bits of each other argument. It returns 0, or what Numba says of an error.
"""

from collections.abc import Mapping
from typing import Any, no_type_check

import llvmlite.binding as llvm
from llvmlite import ir
from numba import cfunc, types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from mmalign.align.kernels.kept import Kinds, native_machine

WORD = ir.IntType(64)
ENTRY = types.int32(types.CPointer(types.int64))  # type: ignore[no-untyped-call]
MEMORY = """
declare ptr @malloc(i64)
declare void @free(ptr)

define ptr @NRT_Allocate(i64 %size) {
  %found = call ptr @malloc(i64 %size)
  ret ptr %found
}

define void @NRT_Free(ptr %given) {
  call void @free(ptr %given)
  ret void
}

define void @NRT_MemInfo_call_dtor(ptr %given) {
  call void @free(ptr %given)
  ret void
}

define ptr @NRT_MemInfo_alloc(i64 %size) {
  %found = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 16)
  ret ptr %found
}

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %alignment) {
  %wanted = zext i32 %alignment to i64
  %before = add i64 %wanted, 48
  %total = add i64 %size, %before
  %found = call ptr @malloc(i64 %total)
  %failed = icmp eq ptr %found, null
  br i1 %failed, label %done, label %fill
fill:
  %start = ptrtoint ptr %found to i64
  %latest = add i64 %start, %before
  %over = urem i64 %latest, %wanted
  %place = sub i64 %latest, %over
  %destructor = getelementptr i8, ptr %found, i64 8
  %its_data = getelementptr i8, ptr %found, i64 16
  %data = getelementptr i8, ptr %found, i64 24
  %length = getelementptr i8, ptr %found, i64 32
  %allocator = getelementptr i8, ptr %found, i64 40
  store i64 1, ptr %found
  store i64 0, ptr %destructor
  store i64 0, ptr %its_data
  store i64 %place, ptr %data
  store i64 %size, ptr %length
  store i64 0, ptr %allocator
  br label %done
done:
  ret ptr %found
}
"""
"""What arrays inside kernels ask of Numba's runtime: a block that counts who uses it, and data."""

EVERYWHERE = ("llvm.", "Py", "malloc", "free", "sqrt")
"""How names begin that LLVM, Python or the C library know."""


def object_code(kernels: Mapping[str, Any]) -> tuple[bytes, dict[str, tuple[str, Kinds]]]:
    """Machine code of kernels that were used before, with the symbol and arguments of each.

    Raises:
        ValueError: If one of them needs more of Numba than memory.
    """
    whole, symbols = llvm.parse_assembly(MEMORY), {}
    for name, kernel in kernels.items():
        signature = kernel.signatures[0]
        entry = _entry(kernel, signature)
        # As Numba left it: what is linked to an entry would be optimised again, to other bits.
        own = kernel.overloads[signature].library._get_module_for_linking()
        for code in (entry.inspect_llvm(), str(own)):  # the entry asks for what comes second
            whole.link_in(llvm.parse_assembly(code))
        symbols[name] = entry._wrapper_name, [_kind(argument) for argument in signature]
    for function in whole.functions:
        if function.is_declaration and not function.name.startswith(EVERYWHERE):
            raise ValueError(f"there is no {function.name} without Numba")
    machine = native_machine()
    whole.triple, whole.data_layout = machine.triple, str(machine.target_data)
    return machine.emit_object(whole), symbols


def _kind(argument: Any) -> tuple[str, int]:
    """Type of an argument's numbers, and the dimensions of an array; -1 for a number."""
    if isinstance(argument, types.Array):
        return str(argument.dtype), argument.ndim
    return str(argument), -1


@no_type_check
def _entry(kernel, signature):
    """A C function that calls a kernel with what stands in a table."""
    compiled = kernel.overloads[signature]

    @intrinsic
    def call_with(typing_context, table):
        def generate(context, builder, own_signature, arguments):
            words = _words(builder, arguments[0])
            given = [_argument(context, builder, kind, words) for kind in signature]
            function = context.declare_function(builder.module, compiled.fndesc)
            status, _ = context.call_conv.call_function(
                builder, function, compiled.signature.return_type, signature, given
            )
            return status.code

        return ENTRY.return_type(table), generate

    def enter(table):
        return call_with(table)

    return cfunc(ENTRY, nopython=True)(enter)


@no_type_check
def _words(builder, table):
    """The numbers of a table, one after the other."""
    at = 0
    while True:
        yield builder.load(builder.gep(table, [ir.Constant(WORD, at)]))
        at += 1


@no_type_check
def _argument(context, builder, kind, words):
    """The next argument, as the kernel takes it."""
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, words)
    word, wanted = next(words), context.get_value_type(kind)
    if isinstance(wanted, ir.IntType):
        return builder.trunc(word, wanted) if wanted.width < WORD.width else word
    if isinstance(wanted, ir.FloatType):
        word = builder.trunc(word, ir.IntType(32))
    return builder.bitcast(word, wanted)


@no_type_check
def _array(context, builder, kind, words):
    """An array over memory that belongs to somebody else, row after row."""
    number = context.get_data_type(kind.dtype)
    size = context.get_constant(types.intp, context.get_abi_sizeof(number))
    data = builder.inttoptr(next(words), number.as_pointer())
    shape = [next(words) for _ in range(kind.ndim)]
    strides, stride = [], size
    for length in reversed(shape):
        strides.insert(0, stride)
        stride = builder.mul(stride, length)
    array = context.make_array(kind)(context, builder)
    layout = {"data": data, "shape": shape, "strides": strides, "itemsize": size}
    populate_array(array, **layout, meminfo=None)
    return array._getvalue()
