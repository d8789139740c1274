"""A table as HTML."""

import html
from collections.abc import Sequence

from mmalign.experiments.report.table import MARKS, Cell, Column, Row, Table, on_one_line

DENSE = 3
"""A table with more columns is set smaller."""


def escape(text: str) -> str:
    """Text that is shown as it is, in elements and in attributes."""
    return html.escape(on_one_line(text), quote=True)


def table_html(table: Table) -> str:
    """The table in a box of its own that scrolls sideways, with its notes below."""
    kind = "table dense" if len(table.columns) > DENSE else "table"
    body = "\n".join(_line(row, table.columns) for row in table.rows)
    notes = "".join(f"<p class=note>{escape(note)}</p>" for note in table.notes)
    return (
        f'<figure class="{kind}" id="{escape(table.name)}">'
        f"<figcaption>{escape(table.title)}</figcaption>\n"
        f'<div class=scroll role=region tabindex=0 aria-label="{escape(table.title)}">'
        f"<table><thead>{_head(table)}</thead>\n<tbody>\n{body}\n</tbody></table></div>"
        f"{notes}</figure>"
    )


def _head(table: Table) -> str:
    groups = table.groups
    corner = f"<th scope=col{' rowspan=2' if groups else ''}>{escape(table.corner)}</th>"
    titles = "".join(
        f"<th scope=col{_kind(column, table, index)}>{escape(column.title)}</th>"
        for index, column in enumerate(table.columns)
    )
    if not groups:
        return f"<tr>{corner}{titles}</tr>"
    spans = "".join(
        f"<th scope=colgroup colspan={count} class=group>{escape(name)}</th>"
        for name, count in groups
    )
    return f"<tr>{corner}{spans}</tr>\n<tr>{titles}</tr>"


def _kind(column: Column, table: Table, index: int) -> str:
    starts = bool(table.groups) and (index == 0 or table.columns[index - 1].group != column.group)
    names = ["prose"] * column.is_prose + ["edge"] * starts
    return f' class="{" ".join(names)}"' if names else ""


def _line(row: Row, columns: Sequence[Column]) -> str:
    cells = "".join(_cell(cell, column) for cell, column in zip(row.cells, columns, strict=True))
    start = " class=start" if row.starts_group else ""
    return f"<tr{start}><th scope=row>{escape(row.title)}</th>{cells}</tr>"


def _cell(cell: Cell, column: Column) -> str:
    names = ["prose"] * column.is_prose + ["best"] * cell.is_best + ["faint"] * cell.is_faint
    kind = f' class="{" ".join(names)}"' if names else ""
    text = escape(cell.text)
    return f"<td{kind}>{f'<strong>{text}</strong>' if cell.is_best else text}{_marks(cell)}</td>"


def _marks(cell: Cell) -> str:
    return "".join(
        f'<abbr class="mark mark-{index}" title="{MARKS[mark]}">{mark}</abbr>'
        for index, mark in enumerate(MARKS)
        if mark in cell.marks
    )
