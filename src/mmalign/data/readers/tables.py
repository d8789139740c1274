"""CSV files: a header of column names, then a line for each clip."""

import csv
import io
from pathlib import Path

from mmalign.data.pickles import map_file
from mmalign.errors import DataError


def read_header(file: Path) -> list[str]:
    """The names in the first line, as far as it can be read.

    Raises:
        DataError: If it is no file.
    """
    if file.is_file() and file.stat().st_size == 0:
        return []
    line = bytes(map_file(file)[:4096]).split(b"\n")[0].decode("utf-8-sig", "replace")
    return [name.strip().strip('"') for name in line.split(",")]


def read_records(file: Path) -> list[dict[str, str]]:
    """One dict for each line after the first.

    Raises:
        DataError: If it is no such file, or a line has more or fewer values than the header.
    """
    raw = bytes(map_file(file))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    try:
        reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
        reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
        records = list(reader)
    except csv.Error as error:
        raise DataError(
            f"not a readable CSV file ({error})", file=file, fix="Save the table as CSV again."
        ) from error
    for number, record in enumerate(records):
        if None in record or None in record.values():
            raise DataError(
                f"line {number + 2} has another number of columns than the header",
                file=file,
                fix="Fix the line; quote text that contains commas.",
            )
    return records
