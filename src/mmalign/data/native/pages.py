"""Memory-mapped float32 values of a Parquet column, without decoding it.

Our writer stores each modality uncompressed, plainly encoded and in one page per row group. In
such a page the values stand side by side as little-endian floats, so a view on the mapped file
*is* the data; only the page header has to be read to know where they begin. Any other
page layout is left to pyarrow.
"""

import mmap
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

DATA_PAGE = 0
PLAIN = 0

Fields = dict[int, "int | Fields"]


@dataclass(frozen=True)
class ColumnChunk:
    """Where one column of one row group lies in the file, as the footer tells."""

    start: int
    size: int
    codec: str
    has_dictionary: bool


def plain_values(
    file: mmap.mmap, chunk: ColumnChunk, count: int
) -> Float32[np.ndarray, " n"] | None:
    """View of the chunk's `count` float32 values, or None if they do not lie in one plain page."""
    if chunk.codec != "UNCOMPRESSED" or chunk.has_dictionary:
        return None
    end = chunk.start + chunk.size
    try:
        header, body = _read_struct(file, chunk.start, end)
    except (ValueError, IndexError):
        return None
    page = header.get(5)
    is_one_page = header.get(1) == DATA_PAGE and header.get(3) == end - body
    if not is_one_page or not isinstance(page, dict) or page.get(2) != PLAIN:
        return None
    first = end - 4 * count
    levels = body
    for _ in ("repetition", "definition"):
        levels += 4 + int.from_bytes(file[levels : levels + 4], "little")
    # The values end the page; if what precedes them is not exactly the two level streams, the
    # page is not what its header says.
    if levels != first:
        return None
    return np.frombuffer(file, dtype="<f4", count=count, offset=first)


def _read_struct(file: mmap.mmap, at: int, end: int) -> tuple[Fields, int]:
    """Integer and struct fields of a Thrift compact struct, and the position after it."""
    fields: Fields = {}
    field_id = 0
    while at < end:
        head = file[at]
        at += 1
        if head == 0:
            return fields, at
        delta, kind = head >> 4, head & 0x0F
        if delta:
            field_id += delta
        else:
            zigzag, at = _read_varint(file, at)
            field_id = (zigzag >> 1) ^ -(zigzag & 1)
        if kind in (1, 2):  # booleans live in the type
            fields[field_id] = int(kind == 1)
        elif kind in (4, 5, 6):  # i16, i32, i64
            zigzag, at = _read_varint(file, at)
            fields[field_id] = (zigzag >> 1) ^ -(zigzag & 1)
        elif kind == 8:  # binary: a statistic, passed over
            size, at = _read_varint(file, at)
            at += size
        elif kind == 12:
            fields[field_id], at = _read_struct(file, at, end)
        else:
            raise ValueError(f"no page header has a field of Thrift type {kind}")
    raise ValueError("the page header does not end")


def _read_varint(file: mmap.mmap, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        byte = file[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number of more than 64 bits")
