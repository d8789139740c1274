"""Tables of other libraries, and files of tables, as Arrow tables."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float32

from mmalign.errors import DataError, suggestion

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
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise DataError(
            f"not a table but {type(frame).__name__} ({reason})",
            fix="Give a DataFrame, a dict of columns, or the path of a CSV or Parquet file.",
        ) from error


def _read(file: Path) -> pa.Table:
    if not file.is_file():
        raise DataError("there is no such file", file=file, fix="Check the path.")
    try:
        if file.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            return pq.read_table(file)
        from pyarrow import csv

        return csv.read_csv(file)
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise DataError(
            f"not a readable table ({reason})", file=file, fix="Save it again as CSV or Parquet."
        ) from error


def values_of(table: pa.Table, name: str) -> list[Any]:
    """The values of a column in Python's own types; None where one is empty.

    Raises:
        DataError: If there is no such column.
    """
    require_column(table, name)
    values: list[Any] = table.column(name).to_pylist()
    return [None if isinstance(value, float) and np.isnan(value) else value for value in values]


def numbers_of(table: pa.Table, names: list[str]) -> Float32[np.ndarray, "rows columns"]:
    """Columns of numbers side by side; NaN where one is empty.

    Raises:
        DataError: If there is no such column, or it does not hold numbers.
    """
    found = np.empty((len(table), len(names)), np.float32)
    for index, name in enumerate(names):
        require_column(table, name)
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
    """Check that the table has a column.

    Raises:
        DataError: If not.
    """
    if name not in table.column_names:
        raise DataError(
            f"there is no column {name!r}; {suggestion(name, table.column_names)}",
            fix="Name the column as it is called, or rename it.",
        )
