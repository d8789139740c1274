"""The only things a pickle may ask for: numpy arrays, numbers, bytes and plain containers."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Shaped

from mmalign.allowance import EMPTY_SIDE, NAME_CHARACTERS

DTYPE = re.compile(r"[biufcSUO?]\d{0,6}")
LARGEST_KEY = 1 << 60
BYTE_ORDERS = ("<", ">", "|", "=")


class UnsafeError(Exception):
    """The pickle asks for something that no data file needs."""


class PendingDtype:
    """A dtype before its byte order is known."""

    def __init__(self, name: str) -> None:
        if not DTYPE.fullmatch(name):
            raise UnsafeError(f"numpy dtype {name[:40]!r}")
        self.dtype = np.dtype(name)

    def build(self, state: Any) -> "PendingDtype":
        """Apply the byte order; only plain dtypes, without fields or subarrays."""
        order, subarray, names, fields = state[1:5]
        if order not in BYTE_ORDERS or not (subarray is None and names is None and fields is None):
            raise UnsafeError("a structured numpy dtype")
        self.dtype = self.dtype.newbyteorder("=" if order == "|" else order)
        return self


class PendingArray:
    """An array before its shape and bytes are known.

    Attributes:
        keys: Memo entries that refer to it and must refer to the array once it is built.
    """

    def __init__(self) -> None:
        self.keys: list[int] = []

    @staticmethod
    def build(state: Any) -> Shaped[np.ndarray, "..."]:
        """The array that the state describes, a view on the file's bytes where possible."""
        shape, kind, is_fortran, raw = state[-4:]
        return array_from(raw, kind, shape, "F" if is_fortran else "C")


def array_from(raw: Any, kind: Any, shape: Any, order: str) -> Shaped[np.ndarray, "..."]:
    """An array of exactly the bytes (or, for dtype object, the list) given."""
    if not isinstance(kind, PendingDtype):
        raise UnsafeError("an array without a plain dtype")
    shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if len(shape) > 32 or not all(isinstance(n, int) and 0 <= n < 1 << 48 for n in shape):
        raise ValueError("no array has such a shape")
    count = math.prod(shape)
    if kind.dtype.hasobject:
        return _object_array(raw, count).reshape(shape, order=_order(order))
    content = to_bytes(raw)
    if len(content) != count * kind.dtype.itemsize:
        raise ValueError(f"an array of shape {shape} does not have {len(content)} bytes")
    if not content:
        if max(shape, default=0) > EMPTY_SIDE:
            raise ValueError("an array of many rows without values")
        return np.zeros(shape, kind.dtype)
    return np.frombuffer(content, dtype=kind.dtype).reshape(shape, order=_order(order))


def _order(order: Any) -> Any:
    return "F" if order == "F" else "C"


def _object_array(items: Any, count: int) -> Shaped[np.ndarray, "..."]:
    if not isinstance(items, list) or len(items) != count:
        raise ValueError(f"an object array of {count} entries needs a list of as many")
    # numpy frees nested object arrays by recursion: fifty thousand levels overflow the stack.
    if any(isinstance(item, np.ndarray) and item.dtype.hasobject for item in items):
        raise UnsafeError("an array of objects inside another")
    array = np.empty(count, dtype=object)
    for index, item in enumerate(items):
        array[index] = item
    return array


def to_bytes(raw: Any) -> bytes | memoryview:
    """Raw bytes; Python 2 and protocol 0 store them as text with one character a byte."""
    if isinstance(raw, str):
        return raw.encode("latin-1")
    if isinstance(raw, bytes | memoryview):
        return raw
    if isinstance(raw, bytearray):
        return bytes(raw)
    raise UnsafeError(f"{type(raw).__name__} where bytes belong")


def _dtype(name: Any, *_: Any) -> PendingDtype:
    return PendingDtype(name if isinstance(name, str) else bytes(to_bytes(name)).decode("ascii"))


def _encode(text: Any, encoding: Any = "utf-8") -> bytes:
    # Never format a value of unknown type: nested tuples in a few bytes print as terabytes.
    if not isinstance(text, str) or not isinstance(encoding, str):
        raise UnsafeError(f"an encoding of {type(text).__name__}")
    if encoding not in ("latin1", "latin-1", "ascii", "utf-8"):
        raise UnsafeError(f"encoding {encoding[:40]!r}")
    return text.encode(encoding)


def _to_bytes(content: Any = b"", encoding: Any = "latin-1") -> bytes:
    return _encode(content, encoding) if isinstance(content, str) else bytes(to_bytes(content))


def check_key(key: Any) -> Any:
    """The key of a dict or set entry.

    Huge integers and tuples could be made to collide, and two equal texts of a megabyte to be
    compared over and over, which turns a dict quadratic.
    """
    if isinstance(key, str | bytes) and len(key) <= NAME_CHARACTERS:
        return key
    if isinstance(key, int) and abs(key) < LARGEST_KEY:
        return key
    raise ValueError(f"a dict key of type {type(key).__name__}")


def _dict(items: Any = ()) -> dict[Any, Any]:
    pairs = items.items() if isinstance(items, dict) else items
    return {check_key(key): value for key, value in pairs}


def _iterable(items: Any) -> Any:
    if not isinstance(items, list | tuple | set | frozenset):
        raise UnsafeError(f"a container of {type(items).__name__}")
    return items


REBUILDERS: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "dtype"): _dtype,
    ("_codecs", "encode"): _encode,
    ("collections", "OrderedDict"): _dict,
    # The factory is a name in the file; nothing here will ever call it.
    ("collections", "defaultdict"): lambda _factory=None, items=(): _dict(items),
}
for _core in ("numpy.core", "numpy._core"):
    REBUILDERS |= {
        (_core + ".multiarray", "_reconstruct"): lambda *_: PendingArray(),
        (_core + ".multiarray", "scalar"): lambda kind, raw=None: array_from(raw, kind, 1, "C")[0],
        (_core + ".numeric", "_frombuffer"): lambda raw, kind, shape, order="C", *_: array_from(
            raw, kind, shape, order
        ),
    }
for _builtins in ("builtins", "__builtin__"):
    REBUILDERS |= {
        (_builtins, "bytes"): _to_bytes,
        (_builtins, "bytearray"): _to_bytes,
        (_builtins, "list"): lambda items=(): list(_iterable(items)),
        (_builtins, "tuple"): lambda items=(): tuple(_iterable(items)),
        (_builtins, "dict"): _dict,
        (_builtins, "set"): lambda items=(): set(map(check_key, _iterable(items))),
        (_builtins, "frozenset"): lambda items=(): set(map(check_key, _iterable(items))),
    }
