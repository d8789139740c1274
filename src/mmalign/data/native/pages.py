"""Where the float32 values of a Parquet column lie, without decoding it.

Our writer stores each modality uncompressed, plainly encoded and in one page per row group. In
such a page the values stand side by side as little-endian floats, so a view on the mapped file
*is* the data; only the page header has to be read to know where they begin. Any other
page layout is left to pyarrow.
"""

import mmap
from dataclasses import dataclass

from mmalign.data.native.thrift import read_struct

DATA_PAGE = 0
PLAIN = 0


@dataclass(frozen=True)
class ColumnChunk:
    """Where one column of one row group lies in the file, as the footer tells."""

    start: int
    size: int
    is_packed: bool
    has_dictionary: bool


def plain_start(file: mmap.mmap, chunk: ColumnChunk, count: int) -> int | None:
    """Where the chunk's `count` float32 values begin; None if they are not one plain page."""
    end = chunk.start + chunk.size
    if chunk.is_packed or chunk.has_dictionary or end > len(file):
        return None
    try:
        header, body = read_struct(file, chunk.start, end)
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
    return first if levels == first else None
