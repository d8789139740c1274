"""How kernels are compiled."""

from collections.abc import Callable
from typing import Any

import numba

from mmalign.align.kernels.private import is_private, private_folder
from mmalign.align.kernels.sources import sources_digest


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles to machine code, once per machine where the result can be kept, without the GIL.

    Products and sums may be fused, but nothing is reordered: LLVM would take sums in one order or
    another, depending on where arrays happen to lie in memory.
    """
    jit: Callable[..., Any] = _jit(function)
    return jit


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles to machine code that becomes part of whatever kernel uses it."""
    jit: Callable[..., Any] = _jit(function, forceinline=True)
    return jit


def _jit(function: Callable[..., Any], **options: Any) -> Any:
    """Numba unpickles what it kept: it is kept where nobody else can write, or not at all."""
    usual: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    options = usual | options
    kept = _kept(function, options)
    if kept is not None:
        return kept
    config: Any = numba.config
    folder, before = private_folder(), config.CACHE_DIR
    if folder is not None:
        config.CACHE_DIR = str(folder)
        try:
            kept = _kept(function, options)
        finally:
            config.CACHE_DIR = before
    return kept if kept is not None else numba.njit(**options)(function)


def _kept(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The function with a cache, or None where there is no directory for one that is private."""
    try:
        jit: Any = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no directory that Numba may write to
        return None
    if not is_private(jit.stats.cache_path):
        return None
    # Numba looks at the file of the function alone, but what that calls is compiled into it.
    file = jit._cache._cache_file
    file._source_stamp = file._source_stamp, sources_digest()
    return jit
