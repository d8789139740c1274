"""Pages of a Parquet file, one after the other, without decoding them.

Our writer stores every column of a row group as one page, plainly encoded and not compressed. In
such a page the values stand side by side, so a view on the mapped file *is* the data; only the
headers have to be read to know where they begin. pyarrow tells where columns lie too, but ends
the process on some damaged files. Whatever is laid out otherwise is left to it to decode.
"""

import mmap
from typing import Any, NamedTuple

DATA_PAGE = 0
PLAIN = 0
INTEGER = 5
STRUCT = 12
MAX_DEPTH = 2

Fields = dict[int, Any]
"""Field id → integer or nested fields."""


class Page(NamedTuple):
    """A page of plain values: how many entries it has, and where its body lies in the file."""

    entries: int
    start: int
    stop: int


def read_page(file: mmap.mmap, at: int) -> Page:
    """Read the header of the page that begins at a byte.

    Raises:
        ValueError: If there is no page of plain values in one piece.
        LookupError: If the header lacks a field, or the file ends too early.
    """
    header, start = _read_struct(file, at)
    page, stop = header[5], start + header[3]
    is_plain = (header[1], header[2], page[2]) == (DATA_PAGE, header[3], PLAIN)
    if not is_plain or min(page[1], header[3]) < 0 or stop > len(file):
        raise ValueError("not a page of plain values")
    return Page(page[1], start, stop)


def start_of_values(file: mmap.mmap, page: Page, count: int) -> int:
    """Find the byte at which the `count` float32 values of a list column begin.

    Raises:
        ValueError: If what precedes them is not exactly the two streams of levels.
    """
    first = page.stop - 4 * count
    levels = page.start
    for _ in ("repetition", "definition"):
        levels += 4 + int.from_bytes(file[levels : levels + 4], "little")
    if levels != first:
        raise ValueError("the page is not what its header says")
    return first


def _read_struct(data: mmap.mmap, at: int, depth: int = 0) -> tuple[Fields, int]:
    """Fields of a struct in Thrift's compact protocol, integers and structs only; its end."""
    fields: Fields = {}
    field_id = 0
    while (head := data[at]) != 0:
        field_id, kind, at = field_id + (head >> 4), head & 0x0F, at + 1
        if kind == INTEGER:
            fields[field_id], at = _read_integer(data, at)
        elif kind == STRUCT and depth < MAX_DEPTH:
            fields[field_id], at = _read_struct(data, at, depth + 1)
        else:
            raise ValueError(f"no field of Thrift type {kind} in the header of a plain page")
    return fields, at + 1


def _read_integer(data: mmap.mmap, at: int) -> tuple[int, int]:
    """A zigzag integer of up to 64 bits, and the position after it."""
    value = 0
    for shift in range(0, 64, 7):
        value |= (data[at + shift // 7] & 0x7F) << shift
        if data[at + shift // 7] < 0x80:
            return (value >> 1) ^ -(value & 1), at + shift // 7 + 1
    raise ValueError("a number of more than 64 bits")
