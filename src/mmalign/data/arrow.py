"""Arrow's columns from and to plain values, without pandas.

Arrow looks for pandas whenever it is given a list or asked for an array, and imports it if it is
there: half a second of every command that has no use for it.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Shaped


def table_of(columns: Mapping[str, Sequence[Any]]) -> pa.Table:
    """A table of lists, each of one type.

    >>> table_of({"id": ["a", "b"], "has_text": [True, False]}).to_pylist()[1]
    {'id': 'b', 'has_text': False}
    """
    arrays = [column_of(list(values)) for values in columns.values()]
    return pa.Table.from_arrays(arrays, names=list(columns))


def parquet_bytes(table: pa.Table) -> bytes:
    """The table as a Parquet file."""
    import pyarrow.parquet as pq  # which most that look at columns need not wait for

    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def column_of(values: list[Any]) -> pa.Array:
    """The values as Arrow would take them: text, truth values or floats; others are left to it."""
    kinds = {type(value) for value in values}
    if kinds == {str}:
        texts = [value.encode() for value in values]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        text = b"".join(texts)
        if len(text) < np.iinfo(np.int32).max:
            offsets = pa.py_buffer(ends.astype(np.int32))
            return pa.StringArray.from_buffers(len(values), offsets, pa.py_buffer(text))
    if kinds == {bool}:
        return _column(pa.bool_(), np.packbits(values, bitorder="little"), len(values))
    if kinds == {float}:
        return _column(pa.float64(), np.array(values, np.float64), len(values))
    return pa.array(values)


def _column(kind: pa.DataType, numbers: Shaped[np.ndarray, "..."], count: int) -> pa.Array:
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(numbers)])


def numbers_in(column: pa.Array) -> Shaped[np.ndarray, " _"]:
    """A column of numbers without nulls as an array, which may share its memory.

    >>> numbers_in(pa.array([1.5, 2.5, 3.5])[1:]).tolist()
    [2.5, 3.5]
    """
    kind = column.type
    is_plain = pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind)
    if not is_plain or column.null_count or not len(column):
        found: Shaped[np.ndarray, " _"] = column.to_numpy(zero_copy_only=False)
        return found
    dtype = np.dtype(kind.to_pandas_dtype())
    start = column.offset * dtype.itemsize
    return np.frombuffer(column.buffers()[1], dtype, len(column), start)
