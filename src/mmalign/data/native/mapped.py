"""Features of a native file as columns in the memory-mapped file."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mmalign.data.columns import FLOAT, StoredColumn
from mmalign.data.native.cost import MAGIC
from mmalign.data.native.layout import Lengths, fingerprint, unpack_lengths
from mmalign.data.native.pages import read_page, start_of_values


def mapped_columns(
    mapped: memoryview, names: Sequence[str], description: dict[str, Any], ids: tuple[str, ...]
) -> dict[str, StoredColumn] | None:
    """Columns in the mapped file, or None where it is not laid out as our writer does.

    Args:
        mapped: The Parquet file.
        names: Its columns, in order.
        description: What its metadata says about modalities and lengths.
        ids: Its clips, in order.
    """
    lengths = _stored_lengths(description, ids)
    if lengths is None:
        return None
    try:
        starts = _starts(mapped, names, lengths, description["dims"])
    except (ValueError, LookupError, TypeError):
        return None
    stored = np.frombuffer(mapped, dtype=np.uint8)
    return {
        name: StoredColumn(stored, starts[name], lengths[name], dim)
        for name, dim in description["dims"].items()
    }


def _stored_lengths(description: dict[str, Any], ids: tuple[str, ...]) -> dict[str, Lengths] | None:
    """Sequence lengths from the metadata, if they were written for these very rows."""
    if description.get("ids") != fingerprint(ids):
        return None
    lengths = {name: unpack_lengths(text) for name, text in description["lengths"].items()}
    is_whole = set(lengths) == set(description["dims"])
    fits = all(len(column) == len(ids) and (column >= 0).all() for column in lengths.values())
    return lengths if is_whole and fits else None


def _starts(
    mapped: memoryview, names: Sequence[str], lengths: dict[str, Lengths], dims: dict[str, int]
) -> dict[str, Lengths]:
    """The byte at which each clip's values begin: one page a column, row group by row group.

    Raises:
        ValueError: If the pages do not hold these rows, or do not end where the footer begins.
        LookupError: If the file ends too early.
    """
    total = len(next(iter(lengths.values())))
    starts = {name: np.zeros_like(column) for name, column in lengths.items()}
    at, row = len(MAGIC), 0
    while row < total:
        rows = slice(row, row + read_page(mapped, at).entries)  # the first column is the id
        for name in names:
            page = read_page(mapped, at)
            at = page.stop
            if name not in dims:
                continue
            steps = lengths[name][rows]
            count = int(steps.sum()) * dims[name]
            # Length 0 means missing, as nothing stored is empty; a missing one is an entry too.
            if page.entries != count + int((steps == 0).sum()):
                raise ValueError("the page holds another number of values")
            first = start_of_values(mapped, page, count)
            starts[name][rows] = first + FLOAT.itemsize * dims[name] * (np.cumsum(steps) - steps)
        if not row < rows.stop <= total:
            raise ValueError("the pages hold another number of rows")
        row = rows.stop
    footer_bytes = int.from_bytes(mapped[-8:-4], "little")
    if mapped[-4:] != MAGIC or at != len(mapped) - 8 - footer_bytes:
        raise ValueError("something lies between the pages and the footer")
    return starts
