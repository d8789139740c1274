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


def _jit(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    options |= {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    jit: Callable[..., Any]
    try:
        jit = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no directory that Numba may write to: compile in every process
        jit = numba.njit(**options)(function)
    return jit
