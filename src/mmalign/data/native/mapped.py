"""Features of a native file as columns in the memory-mapped file."""

import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mmalign.data.columns import FLOAT, StoredColumn
from mmalign.data.native.footer import RowGroup, read_row_groups
from mmalign.data.native.layout import Lengths, fingerprint, unpack_lengths
from mmalign.data.native.pages import plain_start


def mapped_columns(
    file: Path, description: dict[str, Any], ids: tuple[str, ...]
) -> dict[str, StoredColumn] | None:
    """Columns in the mapped file, or None where it is not laid out as our writer does."""
    lengths = _stored_lengths(description, ids)
    if lengths is None:
        return None
    with file.open("rb") as stream:
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    groups = read_row_groups(mapped)
    if groups is None or sum(group.rows for group in groups) != len(ids):
        return None
    stored = np.frombuffer(mapped, dtype=np.uint8)
    columns = {}
    for name, dim in description["dims"].items():
        starts = _starts(mapped, groups, name, lengths[name], dim)
        if starts is None:
            return None
        columns[name] = StoredColumn(stored, starts, lengths[name], dim)
    return columns


def _stored_lengths(description: dict[str, Any], ids: tuple[str, ...]) -> dict[str, Lengths] | None:
    """Sequence lengths from the metadata, if they were written for these very rows."""
    if description.get("ids") != fingerprint(ids):
        return None
    lengths = {name: unpack_lengths(text) for name, text in description["lengths"].items()}
    is_whole = set(lengths) == set(description["dims"])
    fits = all(len(column) == len(ids) and (column >= 0).all() for column in lengths.values())
    return lengths if is_whole and fits else None


def _starts(
    mapped: mmap.mmap, groups: Sequence[RowGroup], name: str, lengths: Lengths, dim: int
) -> Lengths | None:
    """The byte at which each clip's values begin, or None where a row group is not as expected."""
    starts = np.zeros_like(lengths)
    row = 0
    for group in groups:
        rows = slice(row, row + group.rows)
        first = _first_byte(mapped, group, name, lengths[rows], dim)
        if first is None:
            return None
        steps_before = np.cumsum(lengths[rows]) - lengths[rows]
        starts[rows] = first + FLOAT.itemsize * dim * steps_before
        row = rows.stop
    return starts


def _first_byte(
    mapped: mmap.mmap, group: RowGroup, name: str, lengths: Lengths, dim: int
) -> int | None:
    """Where the values of a row group begin; length 0 means missing, as nothing stored is empty."""
    count = int(lengths.sum()) * dim
    chunk, levels = group.chunks.get(name, (None, 0))
    if chunk is None or levels != count + int((lengths == 0).sum()):
        return None
    return plain_start(mapped, chunk, count)
