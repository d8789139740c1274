"""A table as CSV."""

from collections.abc import Iterable, Sequence

from mmalign.experiments.report.table import Table, on_one_line
from mmalign.files import csv_bytes


def table_csv(table: Table) -> bytes:
    """The table as it is printed; groups stand in front of their columns."""
    rows = ([row.title, *(cell.plain for cell in row.cells)] for row in table.rows)
    return rows_csv(table.headings, rows)


def rows_csv(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Lines of values under headings, each value on one line; numbers keep every digit."""
    lines = ([on_one_line(f"{value}") for value in row] for row in rows)
    return csv_bytes([on_one_line(heading) for heading in headings], lines)
