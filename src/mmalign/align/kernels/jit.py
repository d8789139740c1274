"""How kernels are compiled."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles to machine code, once per machine where the result can be kept, without the GIL.

    Products and sums may be fused, but nothing is reordered. Numba looks for a kept result under
    the file of the function that Python calls: after editing what that function uses, delete
    ``__pycache__``.
    """
    return _jit(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles to machine code that becomes part of whatever kernel uses it."""
    return _jit(function, forceinline=True)


def reordered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles as `compiled` does, but sums are taken in the order that is fastest.

    They then differ in the last digits from one kind of CPU to another, as those of BLAS do.
    """
    return _jit(function, fastmath={"contract", "reassoc", "nsz"})


def _jit(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    usual: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    options = usual | options
    jit: Callable[..., Any]
    try:
        jit = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no directory that Numba may write to: compile in every process
        jit = numba.njit(**options)(function)
    return jit
