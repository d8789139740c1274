"""Tables of predictions as Parquet, CSV or JSON lines, by the file's ending."""

import json
import sys
from pathlib import Path
from typing import Any

from mmalign.errors import ConfigError
from mmalign.files import csv_bytes, write_atomically

STDOUT = Path("-")


def check_ending(file: Path) -> None:
    """Check that the file's ending names a format.

    Raises:
        ConfigError: If the ending is none of .parquet, .csv and .jsonl.
    """
    if file != STDOUT and file.suffix.lower() not in WRITERS:
        raise ConfigError(f"{file}: the ending must be one of {', '.join(WRITERS)}")


def write_table(table: Any, file: Path) -> None:
    """Write an Arrow table; the old file is replaced when the new one is whole. `-` prints CSV.

    Raises:
        ConfigError: If the ending is none of .parquet, .csv and .jsonl.
    """
    check_ending(file)
    if file == STDOUT:
        sys.stdout.write(_csv(table).decode())
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, WRITERS[file.suffix.lower()](table))


def _parquet(table: Any) -> bytes:
    from mmalign.data.arrow import parquet_bytes

    return parquet_bytes(table)


def _csv(table: Any) -> bytes:
    return csv_bytes(table.column_names, (row.values() for row in table.to_pylist()))


def _json_lines(table: Any) -> bytes:
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in table.to_pylist()).encode()


WRITERS = {".parquet": _parquet, ".csv": _csv, ".jsonl": _json_lines}
