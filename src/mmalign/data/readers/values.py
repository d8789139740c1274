"""Checked access to values of unknown origin.

A pickle can nest one list in itself a hundred times in a few bytes. Such a value must not be
printed, compared or handed to `np.asarray`, which would walk it all; so everything here looks at
the type first and goes one level deep.
"""

from typing import Any

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.pickles import Python2Text
from mmalign.errors import DataError

NUMBERS = "fiub"


def describe(value: Any) -> str:
    """Describe a value in a few words."""
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


def unexpected(expected: str, value: Any, **place: Any) -> DataError:
    """Make the error for a value that does not belong where it is."""
    return DataError(
        f"expected {expected}, got {describe(value)}",
        fix="docs/formats.md shows the layout; write the file again.",
        **place,
    )


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
    raise unexpected("text", value)


def to_texts(value: Any, count: int | None = None) -> list[str]:
    """A list of texts from a list, a tuple or an array of them.

    Raises:
        DataError: If it is no such list, or not of `count` texts.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in "USO":
        value = value.reshape(-1).tolist()
    if not isinstance(value, list | tuple) or count not in (None, len(value)):
        raise unexpected(f"a list of {'' if count is None else f'{count} '}texts", value)
    return [to_text(item) for item in value]


def to_array(value: Any, *, dims: int) -> Array:
    """An array of numbers with this many axes.

    Raises:
        DataError: If it is something else.
    """
    if not isinstance(value, np.ndarray) or value.dtype.kind not in NUMBERS:
        raise unexpected("an array of numbers", value)
    if value.ndim != dims:
        raise unexpected(f"an array with {dims} axes", value)
    return value


def to_steps(value: Any, length: int | None = None) -> Array | None:
    """The first steps of a sequence `[time, dim]`, all of them by default; None if it has none.

    Raises:
        DataError: If it is something else.
    """
    array = to_array(value, dims=2)[:length]
    return array if len(array) else None


def to_numbers(value: Any, count: int | None = None, *, what: str = "numbers") -> Array:
    """A flat array from an array of any shape, a number, or a flat list of numbers.

    Raises:
        DataError: If it is something else, or not of `count` numbers.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
        numbers = value.reshape(-1)
    else:
        items = value if isinstance(value, list | tuple) else [value]
        numbers = np.array([_to_number(item) for item in items])
    if count not in (None, len(numbers)):
        raise unexpected(f"{count} {what}", value)
    return numbers


def _to_number(item: Any) -> Any:
    if isinstance(item, np.ndarray) and item.size == 1 and item.dtype.kind in NUMBERS:
        return item.reshape(-1)[0].item()
    if isinstance(item, np.generic) and item.dtype.kind in NUMBERS:
        return item.item()
    if isinstance(item, bool | int | float) and (isinstance(item, float) or abs(item) < 1 << 62):
        return item
    raise unexpected("a number", item)
