"""Checked access to values of unknown origin.

A pickle can nest one list in itself a hundred times in a few bytes. Such a value must not be
printed, compared or handed to `np.asarray`, which would walk it all; so everything here looks at
the type first and goes one level deep.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.pickles import Python2Text
from mmalign.errors import DataError


def describe(value: Any) -> str:
    """What kind of value it is, in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {list(value.shape)} and type {value.dtype}"
    if isinstance(value, dict):
        keys = [str(key)[:30] for key in list(value)[:8] if isinstance(key, str)]
        return f"a dict with keys {', '.join(keys) or 'that are no text'}"
    if isinstance(value, list | tuple):
        inner = f" of {type(value[0]).__name__}" if value else ""
        return f"a {type(value).__name__} of {len(value)}{inner and inner + ' items'}"
    if isinstance(value, int) and value.bit_length() > 64:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str | int | float | None):
        return f"{str(value)[:40]!r}"
    return f"a {type(value).__name__}"


def is_text(value: Any) -> bool:
    """Whether `to_text` can read it."""
    return isinstance(value, str | bytes | memoryview)


def to_text(value: Any) -> str:
    """Text, whether it was stored as text, as bytes, or as a string of Python 2.

    Raises:
        DataError: If the value is none of these.
    """
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "USO":
        value = value.reshape(-1)[0]
    if isinstance(value, Python2Text):
        value = value.encode("latin-1")
    if isinstance(value, bytes | memoryview):
        raw = bytes(value)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return raw.decode("latin-1")
    if isinstance(value, str):
        return str(value)
    raise DataError(f"expected text, got {describe(value)}")


def to_texts(value: Any) -> list[str]:
    """A list of texts from a list, a tuple or an array of them.

    Raises:
        DataError: If it is no such list.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "USO":
        value = value.reshape(-1).tolist()
    if not isinstance(value, list | tuple):
        raise DataError(f"expected a list of texts, got {describe(value)}")
    return [to_text(item) for item in value]


def to_array(value: Any, *, dims: int) -> Array:
    """An array of numbers with this many axes.

    Raises:
        DataError: If it is something else.
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiub":
        raise DataError(f"expected an array of numbers, got {describe(value)}")
    if value.ndim != dims:
        raise DataError(f"expected an array with {dims} axes, got shape {list(value.shape)}")
    return value


def to_numbers(value: Any) -> Array:
    """A flat array from an array of any shape, a number, or a flat list of numbers.

    Raises:
        DataError: If it is something else.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return value.reshape(-1)
    items = value if isinstance(value, list | tuple) else [value]
    return np.array([_to_number(item) for item in items])


def _to_number(item: Any) -> Any:
    if isinstance(item, np.ndarray) and item.size == 1 and item.dtype.kind in "fiub":
        return item.reshape(-1)[0].item()
    if isinstance(item, np.generic) and item.dtype.kind in "fiub":
        return item.item()
    if isinstance(item, bool | int | float) and (isinstance(item, float) or abs(item) < 1 << 62):
        return item
    raise DataError(f"expected a number, got {describe(item)}")


def common_dim(arrays: Sequence[Array | None], modality: str, ids: Sequence[str]) -> int | None:
    """The feature dimension that all sequences share; None if there are none.

    Raises:
        DataError: If two sequences disagree.
    """
    dim: int | None = None
    for array, clip_id in zip(arrays, ids, strict=True):
        if array is None:
            continue
        if dim is not None and array.shape[1] != dim:
            raise DataError(
                f"dim is {array.shape[1]}, in the clips before {dim}",
                clip=clip_id,
                modality=modality,
                fix="All clips share one feature dimension per modality.",
            )
        dim = int(array.shape[1])
    return dim
