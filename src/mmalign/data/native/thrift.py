"""Thrift's compact protocol, as far as Parquet's headers and footers use it.

pyarrow tells where columns lie too, but ends the process on some damaged footers.
"""

import mmap
from typing import Any

MAX_DEPTH = 16

Fields = dict[int, Any]
"""Field id → integer, bytes, list or nested fields."""


def read_struct(data: mmap.mmap | bytes, at: int, end: int, depth: int = 0) -> tuple[Fields, int]:
    """The fields of a struct, and the position after it.

    Raises:
        ValueError: If these bytes are no struct.
        IndexError: If they end too early.
    """
    fields: Fields = {}
    field_id = 0
    while at < end and depth < MAX_DEPTH:
        head = data[at]
        at += 1
        if head == 0:
            return fields, at
        delta, kind = head >> 4, head & 0x0F
        if delta:
            field_id += delta
        else:
            field_id, at = _read_integer(data, at)
        if kind in (1, 2):  # a boolean lives in the type
            fields[field_id] = int(kind == 1)
        else:
            fields[field_id], at = _read_value(data, at, end, kind, depth)
    raise ValueError("the struct does not end")


def _read_value(
    data: mmap.mmap | bytes, at: int, end: int, kind: int, depth: int
) -> tuple[Any, int]:
    if kind in (1, 2, 3):  # inside lists, booleans and bytes take a byte
        return data[at], at + 1
    if kind in (4, 5, 6):  # i16, i32, i64
        return _read_integer(data, at)
    if kind == 7:  # double
        return data[at : at + 8], at + 8
    if kind == 8:  # binary
        size, at = _read_varint(data, at)
        if size > end - at:
            raise ValueError("a text beyond the end")
        return data[at : at + size], at + size
    if kind in (9, 10):
        return _read_list(data, at, end, depth)
    if kind == 12:
        return read_struct(data, at, end, depth + 1)
    raise ValueError(f"Parquet has no field of Thrift type {kind}")


def _read_list(data: mmap.mmap | bytes, at: int, end: int, depth: int) -> tuple[list[Any], int]:
    head = data[at]
    at += 1
    size, kind = head >> 4, head & 0x0F
    if size == 15:
        size, at = _read_varint(data, at)
    if size > end - at:
        raise ValueError("a list of more entries than there are bytes")
    values = []
    for _ in range(size):
        value, at = _read_value(data, at, end, kind, depth + 1)
        values.append(value)
    return values, at


def _read_integer(data: mmap.mmap | bytes, at: int) -> tuple[int, int]:
    zigzag, at = _read_varint(data, at)
    return (zigzag >> 1) ^ -(zigzag & 1), at


def _read_varint(data: mmap.mmap | bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number of more than 64 bits")
