"""Tables of other libraries, and files of tables, as Arrow tables."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float32

from mmalign.allowance import memory_allowed
from mmalign.data.pickles import map_file
from mmalign.errors import DataError, located, suggestion

COLUMN_BYTES = 1 << 14
"""Memory that a column of a table takes, however short it is."""

Frame = Any
"""A pandas, Polars or Arrow table, a dict of columns, or the path of a CSV or Parquet file."""


def to_table(frame: Frame) -> pa.Table:
    """The frame as an Arrow table; the index of a pandas frame is left out.

    Raises:
        DataError: If it is no table, or a file that cannot be read.

    >>> to_table({"clip": ["a", "a"], "x": [1, 2]}).column_names
    ['clip', 'x']
    """
    try:
        if isinstance(frame, pa.Table):
            return frame
        if isinstance(frame, str | PathLike):
            return _read(Path(frame))
        if isinstance(frame, Mapping):
            return pa.table(dict(frame))
        if hasattr(frame, "iloc"):
            return pa.Table.from_pandas(frame, preserve_index=False)
        return pa.table(frame)
    except (pa.ArrowException, AttributeError, TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise DataError(
            f"not a table but {type(frame).__name__} ({reason})",
            fix="Give a DataFrame, a dict of columns, or the path of a CSV or Parquet file.",
        ) from error


def _read(file: Path) -> pa.Table:
    data = map_file(file)
    try:
        if file.suffix.lower() == ".parquet":
            from mmalign.data.native.opening import open_parquet

            with located(file=file):
                return open_parquet(data).read()
        from pyarrow import csv

        _check_width(data, file)
        # From memory, so that a name's end unpacks nothing.
        table = csv.read_csv(pa.BufferReader(pa.py_buffer(data)))
        _ = table.column_names
        return table
    except UnicodeDecodeError as error:
        raise DataError(
            "the header is not in UTF-8", file=file, fix="Save the table again, in UTF-8."
        ) from error
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise DataError(
            f"not a readable table ({reason})", file=file, fix="Save it again as CSV or Parquet."
        ) from error


def _check_width(data: memoryview, file: Path) -> None:
    """Check that a CSV file has no more columns than its size allows.

    Raises:
        DataError: If it has more.
    """
    end = re.search(rb"[\r\n]|$", data)
    columns = bytes(data[: end.start() if end else 0]).count(b",")
    if columns * COLUMN_BYTES > memory_allowed(len(data)):
        raise DataError(
            f"{columns:,} columns in a file of {len(data):,} bytes",
            file=file,
            fix="Give a row to each step, and a column to each feature.",
        )


def values_of(table: pa.Table, name: str) -> list[Any]:
    """The values of a column in Python's own types; None where one is empty.

    Raises:
        DataError: If there is no such column, or its texts are not in UTF-8.
    """
    require_column(table, name)
    if pa.types.is_binary(table.schema.field(name).type):
        raise DataError(f"column {name!r} is not in UTF-8", fix="Save the table again, in UTF-8.")
    values: list[Any] = table.column(name).to_pylist()
    return [None if isinstance(value, float) and np.isnan(value) else value for value in values]


def numbers_of(table: pa.Table, names: list[str]) -> Float32[np.ndarray, "rows columns"]:
    """Columns of numbers side by side; NaN where one is empty.

    Raises:
        DataError: If there is no such column, or it does not hold numbers.
    """
    found = np.empty((len(table), len(names)), np.float32)
    require_columns(table, names)
    for index, name in enumerate(names):
        kind = table.schema.field(name).type
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not (is_number or pa.types.is_boolean(kind) or pa.types.is_null(kind)):
            raise DataError(
                f"column {name!r} holds {_in_words(kind)}, not numbers",
                fix="Remove the column, or name the feature columns in Python: modalities={…}.",
            )
        column = table.column(name).cast(pa.float32(), safe=False)
        found[:, index] = column.to_numpy(zero_copy_only=False) if len(table) else []
    return found


def _in_words(kind: pa.DataType) -> str:
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return "text" if is_text else str(kind)


def require_column(table: pa.Table, name: str) -> None:
    """Check that the table has a column, and only one of this name.

    Raises:
        DataError: If not.
    """
    require_columns(table, [name])


def require_columns(table: pa.Table, names: Sequence[str]) -> None:
    """Check that the table has these columns, each once.

    Raises:
        DataError: If not.
    """
    counts = Counter(table.column_names)  # made once: a table may have very many
    for name in names:
        if counts[name] == 0:
            raise DataError(
                f"there is no column {name!r}; {suggestion(name, counts)}",
                fix="Name the column as it is called, or rename it.",
            )
        if counts[name] > 1:
            raise DataError(f"there are {counts[name]} columns {name!r}", fix="Rename them.")
