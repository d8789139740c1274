"""What decoding a Parquet file will cost, from its footer and the headers of its pages.

A packed page of a kilobyte may hold a gigabyte, and a run of one repeated value costs nothing at
any length. All of it is announced in headers, and pyarrow allocates what they announce.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from mmalign.allowance import memory_allowed
from mmalign.data.native.layout import RESERVED
from mmalign.data.native.pages import read_header
from mmalign.data.native.thrift import Bytes, Fields, ThriftReader
from mmalign.errors import DataError, damaged

MAGIC = b"PAR1"
TEXT = (6, 7)  # types of columns whose values have any length
SHARED_STARTS = 7  # the encoding in which a few bytes repeat the text before them
OBJECT_BYTES = 64  # a value of id, label, words, times or group becomes an object of Python's
NUMBER_BYTES = 12  # its levels, itself, and a copy of it as float32
FOOTER_BYTES_PER_VALUE = 1024


CODECS = {0: None, 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}


UNREADABLE = (
    *(ValueError, LookupError, TypeError, AttributeError, OverflowError),
    *(OSError, MemoryError, pa.ArrowException),
)


class Chunk(NamedTuple):
    """One column of a row group, as the footer describes it."""

    name: str
    is_text: bool
    codec: int
    start: int
    stop: int


def check_cost(data: Bytes) -> None:
    """Check that decoding a Parquet file takes no more memory than its size allows.

    Raises:
        DataError: If it takes more, or its footer or a page is damaged.
    """
    allowed = memory_allowed(len(data))
    needed = 0
    try:
        for chunk in _chunks(data):
            needed += _chunk_cost(data, chunk, allowed)
    except UNREADABLE as error:
        raise damaged(f"not a readable Parquet file ({error or type(error).__name__})") from error
    if needed > allowed:
        raise DataError(
            f"a file of {len(data):,} bytes that unpacks to {needed:,}",
            fix="That looks like a bomb. If it is yours, write it without compression.",
        )


def _chunks(data: Bytes) -> Iterator[Chunk]:
    size = int.from_bytes(data[-8:-4], "little")
    start = len(data) - 8 - size
    if bytes(data[-4:]) != MAGIC or start < len(MAGIC):
        raise ValueError("there is no footer")
    reader = ThriftReader(data, start, memory_allowed(len(data)) // FOOTER_BYTES_PER_VALUE)
    for group in reader.struct()[4]:
        for column in group[1]:
            if 1 in column:
                raise ValueError("a column in another file")
            yield _chunk(column[3], start)


def _chunk(described: Fields, end: int) -> Chunk:
    # A column of no rows has no data page: its offset is 0, and the dictionary comes first.
    start = min((at for at in (described[9], described.get(11, 0)) if at > 0), default=0)
    stop = start + described[7]
    if not len(MAGIC) <= start <= stop <= end:
        raise ValueError("a column lies outside the file")
    name = described[3][0].decode()
    return Chunk(name, described[1] in TEXT, described[4], start, stop)


def _chunk_cost(data: Bytes, chunk: Chunk, allowed: int) -> int:
    """Bytes of memory that decoding the pages takes."""
    values = unpacked = longest = 0
    at = chunk.start
    while at < chunk.stop:
        header, body = read_header(data, at)
        page = header.get(5) or header.get(8) or header.get(7) or {}
        if header[2] < 0 or header[3] < 0 or page.get(1, 0) < 0:
            raise ValueError("a page of negative size")
        if chunk.is_text and page.get(4 if 8 in header else 2) == SHARED_STARTS:
            raise ValueError("an encoding of text that is not read here")
        values += page.get(1, 0)
        unpacked += header[2]
        at = body + header[3]
        if at > chunk.stop:
            raise ValueError("a page is longer than its column")
        if chunk.is_text and 7 in header and unpacked <= allowed:
            page_bytes = _unpacked(data[body:at], chunk.codec, header[2])
            longest = max(longest, _longest(page_bytes, page[1]))
    each = OBJECT_BYTES if chunk.is_text or chunk.name in RESERVED else NUMBER_BYTES
    return 4 * unpacked + (each + longest) * values


def _unpacked(page: Bytes, codec: int, size: int) -> Bytes:
    name = CODECS[codec]
    return page if name is None else memoryview(pa.decompress(page, size, codec=name))


def _longest(page: Bytes, count: int) -> int:
    """Bytes of the longest text in a dictionary, which any number of values may repeat."""
    longest = at = 0
    for _ in range(count):
        if at + 4 > len(page):
            raise ValueError("a dictionary ends too early")
        size = int.from_bytes(page[at : at + 4], "little")
        longest, at = max(longest, size), at + 4 + size
    return longest
