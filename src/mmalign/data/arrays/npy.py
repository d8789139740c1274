"""The `.npy` format: a header in text, then the bytes of one array."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from mmalign.allowance import EMPTY_SIDE
from mmalign.data.arrays.archive import Archive
from mmalign.data.pickles import PickleMachine, map_file
from mmalign.errors import DataError, damaged, located

MAGIC = b"\x93NUMPY"
MAX_HEADER_BYTES = 10_000
DESCRIPTION = re.compile(r"'descr'\s*:\s*'([<>|=]?)([a-zA-Z?])(\d{0,6})'")
ORDER = re.compile(r"'fortran_order'\s*:\s*(True|False)")
SHAPE = re.compile(r"'shape'\s*:\s*\(([\d\sL,]*)\)")
SIDE = re.compile(r"\s*(\d{1,15})L?\s*")
"""No expression here can match one text in two ways: one that can takes ages to fail."""

Array = Shaped[np.ndarray, "..."]
"""An array of any shape and type."""


def read_npy(file: Path) -> Array:
    """The array in an `.npy` file, as a view on the mapped file.

    Raises:
        DataError: If it is no such file, is damaged, or holds Python objects.
    """
    with located(file=file):
        return parse_npy(map_file(file))


def read_npz(file: Path) -> dict[str, Array]:
    """All arrays of an `.npz` file by name.

    Raises:
        DataError: If it is no such file, is damaged, or holds Python objects.
    """
    with Archive(file) as archive:
        arrays = {}
        for name in archive.names:
            if not name.endswith(".npy"):
                continue
            key = name.removesuffix(".npy")
            try:
                arrays[key] = parse_npy(archive.read(name))
            except DataError as error:
                error.problem = f"array {key!r}: {error.problem}"
                raise error.located(file=file) from None
        return arrays


def parse_npy(data: memoryview) -> Array:
    """The array that these bytes describe, as a view on them.

    Raises:
        DataError: If they are no `.npy` file, do not fit their header, or hold Python objects.
    """
    header, start = _header(data)
    dtype, order, shape = _described(header)
    expected = math.prod(shape) * dtype.itemsize
    if expected != len(data) - start:
        raise damaged(
            f"an array of shape {list(shape)} needs {expected} bytes, got {len(data) - start}"
        )
    if expected == 0:
        if max(shape, default=0) > EMPTY_SIDE:
            raise damaged(f"an array of shape {list(shape)} has no values at all")
        return np.zeros(shape, dtype)
    return np.frombuffer(data[start:], dtype).reshape(shape, order="F" if order else "C")


def read_npy_object(file: Path) -> Any:
    """The one object inside an `.npy` file of dtype object and shape ().

    Raises:
        DataError: If it is no such file, or its pickle is refused.
    """
    data = map_file(file)
    with located(file=file):
        array = PickleMachine(data, _header(data)[1]).run()
        if not isinstance(array, np.ndarray) or array.dtype != object or array.size != 1:
            raise damaged("expected one pickled object in the .npy file")
        return array.reshape(())[()]


def _header(data: memoryview) -> tuple[str, int]:
    """The text of the header, and where the array begins."""
    if bytes(data[:6]) != MAGIC or len(data) < 12:
        raise DataError("not an .npy array", fix="Save it with numpy.save.")
    size = 2 if data[6] == 1 else 4
    start = 8 + size + int.from_bytes(data[8 : 8 + size], "little")
    if data[6] not in (1, 2, 3) or start > min(len(data), MAX_HEADER_BYTES):
        raise damaged("not a readable .npy header")
    return str(data[8 + size : start], "latin-1"), start


def _described(header: str) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    description, order = DESCRIPTION.search(header), ORDER.search(header)
    shape = SHAPE.search(header)
    if not (description and order and shape):
        raise DataError("not a readable .npy header", fix="Only plain arrays are read.")
    if description[2] == "O":
        raise DataError(
            "the array holds Python objects",
            fix="Save numbers: one flat array over all clips, and one array of lengths.",
        )
    if description[2] not in "biufSU?":
        raise DataError(
            f"no array of numbers or text (type {description[2]!r})", fix="Save numbers or text."
        )
    sides = [SIDE.fullmatch(part) for part in shape[1].split(",") if part.strip()]
    sizes = tuple(int(side[1]) for side in sides if side is not None)
    if len(sizes) < len(sides) or len(sizes) > 32 or any(n >= 1 << 48 for n in sizes):
        raise damaged("no array has such a shape")
    try:
        return np.dtype("".join(description.groups())), order[1] == "True", sizes
    except TypeError as error:
        raise damaged(f"unknown type {description[0]}") from error
