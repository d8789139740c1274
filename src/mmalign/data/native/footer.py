"""Where the columns of a Parquet file lie, read from its footer."""

import mmap
from dataclasses import dataclass
from typing import Any

from mmalign.data.native.pages import ColumnChunk
from mmalign.data.native.thrift import Fields, read_struct

MAGIC = b"PAR1"
UNCOMPRESSED = 0


@dataclass(frozen=True)
class RowGroup:
    """Rows that are stored together; for each top-level column its chunk and level entries."""

    rows: int
    chunks: dict[str, tuple[ColumnChunk, int]]


def read_row_groups(file: mmap.mmap) -> list[RowGroup] | None:
    """The row groups of a file, or None where its footer cannot be read."""
    end = len(file) - 8
    if end < 0 or file[end + 4 :] != MAGIC:
        return None
    start = end - int.from_bytes(file[end : end + 4], "little")
    if start < 0:
        return None
    try:
        footer, _ = read_struct(file, start, end)
        return [_row_group(fields) for fields in footer[4]]
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _row_group(fields: Fields) -> RowGroup:
    chunks = dict(_chunk(column[3]) for column in fields[1])
    return RowGroup(_number(fields[3]), chunks)


def _chunk(fields: Fields) -> tuple[str, tuple[ColumnChunk, int]]:
    chunk = ColumnChunk(
        start=_number(fields[9]),
        size=_number(fields[7]),
        is_packed=fields[4] != UNCOMPRESSED,
        has_dictionary=11 in fields,
    )
    return fields[3][0].decode(), (chunk, _number(fields[5]))


def _number(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError("not a size")
    return value
