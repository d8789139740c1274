"""A table as Markdown, as GitHub reads it."""

import re
from collections.abc import Iterable

from mmalign.experiments.report.table import Cell, Row, Table, on_one_line

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!@^]|:(?=//))")
"""What Markdown gives a meaning to, and what would make links of addresses."""


def escape(text: str) -> str:
    """Text that is shown as it is."""
    return SPECIAL.sub(r"\\\1", on_one_line(text))


def table_markdown(table: Table) -> str:
    """The table under its title, with its notes below; groups stand in front of their columns."""
    headings = [table.corner] + [
        f"{column.group}: {column.title}" if column.group else column.title
        for column in table.columns
    ]
    rule = ["---"] + ["---" if column.is_prose else "---:" for column in table.columns]
    lines = [_join(map(escape, headings)), _join(rule), *map(_line, table.rows)]
    notes = "".join(f"\n\n{escape(note)}" for note in table.notes)
    return f"{_bold(table.title)}\n\n" + "\n".join(lines) + notes + "\n"


def _line(row: Row) -> str:
    return _join([escape(row.title), *map(_cell, row.cells)])


def _cell(cell: Cell) -> str:
    text = _bold(cell.text) if cell.is_best else escape(cell.text)
    return f"{text} {escape(cell.marks)}" if cell.marks else text


def _bold(text: str) -> str:
    """Bold text; nothing at all cannot be bold."""
    return f"**{escape(text)}**" if on_one_line(text) else ""


def _join(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
