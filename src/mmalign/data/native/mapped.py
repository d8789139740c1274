"""Features of a native file as views on the memory-mapped file."""

import mmap
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from mmalign.data.clip import Steps
from mmalign.data.native.footer import read_row_groups
from mmalign.data.native.layout import Lengths, fingerprint, unpack_lengths
from mmalign.data.native.pages import ColumnChunk, plain_values

Columns = dict[str, list[Steps | None]]


def mapped_columns(file: Path, description: dict[str, Any], ids: tuple[str, ...]) -> Columns | None:
    """Views into the mapped file, or None where it is not laid out as our writer does."""
    lengths = _stored_lengths(description, ids)
    if lengths is None:
        return None
    with file.open("rb") as stream:
        mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    columns: Columns = {name: [] for name in lengths}
    start = 0
    groups = read_row_groups(mapped)
    if groups is None:
        return None
    for group in groups:
        stop = start + group.rows
        for name, (chunk, levels) in group.chunks.items():
            if name not in lengths:
                continue
            views = _views(
                mapped, chunk, levels, lengths[name][start:stop], description["dims"][name]
            )
            if views is None:
                return None
            columns[name] += views
        start = stop
    return columns if all(len(column) == len(ids) for column in columns.values()) else None


def _stored_lengths(description: dict[str, Any], ids: tuple[str, ...]) -> dict[str, Lengths] | None:
    """Sequence lengths from the metadata, if they were written for these very rows."""
    if description.get("ids") != fingerprint(ids):
        return None
    lengths = {name: unpack_lengths(text) for name, text in description["lengths"].items()}
    is_whole = set(lengths) == set(description["dims"])
    fits = all(len(column) == len(ids) and (column >= 0).all() for column in lengths.values())
    return lengths if is_whole and fits else None


def _views(
    mapped: mmap.mmap, chunk: ColumnChunk, levels: int, lengths: Lengths, dim: int
) -> list[Steps | None] | None:
    """One view a clip; length 0 means missing, as no stored sequence is empty."""
    count = int(lengths.sum()) * dim
    values = plain_values(mapped, chunk, count)
    if values is None or levels != count + int((lengths == 0).sum()):
        return None
    flat: Float32[np.ndarray, "steps dim"] = values.reshape(-1, dim)
    stops = np.cumsum(lengths).tolist()
    return [
        flat[start:stop] if stop > start else None
        for start, stop in zip([0, *stops[:-1]], stops, strict=True)
    ]
