"""Pages of a Parquet file, one after the other, without decoding them.

Our writer stores every column of a row group as one page, plainly encoded and not compressed. In
such a page the values stand side by side, so a view on the mapped file *is* the data; only the
headers have to be read to know where they begin. pyarrow tells where columns lie too, but ends
the process on some damaged files. Whatever is laid out otherwise is left to it to decode.
"""

from typing import NamedTuple

from mmalign.data.native.thrift import Bytes, Fields, ThriftReader

DATA_PAGE = 0
PLAIN = 0
HEADER_VALUES = 100


class Page(NamedTuple):
    """A page of plain values: how many entries it has, and where its body lies in the file."""

    entries: int
    start: int
    stop: int


def read_header(file: Bytes, at: int) -> tuple[Fields, int]:
    """Read the header of the page that begins at a byte, and where its body begins.

    Raises:
        ValueError: If there is no header.
        LookupError: If the file ends too early.
    """
    reader = ThriftReader(file, at, HEADER_VALUES)
    return reader.struct(), reader.at


def read_page(file: Bytes, at: int) -> Page:
    """Read the header of the page that begins at a byte.

    Raises:
        ValueError: If there is no page of plain values in one piece.
        LookupError: If the header lacks a field, or the file ends too early.
    """
    header, start = read_header(file, at)
    page, stop = header[5], start + header[3]
    is_plain = (header[1], header[2], page[2]) == (DATA_PAGE, header[3], PLAIN)
    if not is_plain or min(page[1], header[3]) < 0 or stop > len(file):
        raise ValueError("not a page of plain values")
    return Page(page[1], start, stop)


def start_of_values(file: Bytes, page: Page, count: int) -> int:
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
