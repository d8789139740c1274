"""Tables of predictions as Parquet, CSV or JSON lines, by the file's ending."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from mmalign.errors import ConfigError
from mmalign.files import write_atomically


def write_table(columns: dict[str, list[Any]], file: Path) -> None:
    """Write the columns; the old file is replaced when the new one is whole.

    Raises:
        ConfigError: If the ending is none of .parquet, .csv and .jsonl.
    """
    writers = {".parquet": _parquet, ".csv": _csv, ".jsonl": _json_lines}
    if file.suffix not in writers:
        raise ConfigError(f"{file}: the ending must be one of {', '.join(writers)}")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, writers[file.suffix](columns))


def _parquet(columns: dict[str, list[Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


def _csv(columns: dict[str, list[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def _json_lines(columns: dict[str, list[Any]]) -> bytes:
    rows = zip(*columns.values(), strict=True)
    lines = (json.dumps(dict(zip(columns, row, strict=True)), allow_nan=False) for row in rows)
    return ("\n".join(lines) + "\n").encode()
