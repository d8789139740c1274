"""Tables and plain rows as CSV."""

import csv
import io
from collections.abc import Iterable, Sequence

from mmalign.experiments.report.table import Table, on_one_line


def table_csv(table: Table) -> str:
    """The table as it is printed; groups stand in front of their columns."""
    headings = [
        f"{column.group}: {column.title}" if column.group else column.title
        for column in table.columns
    ]
    rows = [[row.title, *(cell.plain for cell in row.cells)] for row in table.rows]
    return rows_csv([table.corner, *headings], rows)


def rows_csv(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lines of values under headings; numbers keep every digit."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(on_one_line, headings))
    writer.writerows([on_one_line(str(value)) for value in row] for row in rows)
    return text.getvalue()
