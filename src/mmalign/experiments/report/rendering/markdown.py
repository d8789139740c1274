"""Tables and the whole report as Markdown, as GitHub reads it."""

import re
from collections.abc import Iterable

from mmalign.experiments.report.document import Block, Code, Document, Gallery, Heading, flat
from mmalign.experiments.report.table import Cell, Table, on_one_line

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!@^]|:(?=//))")
"""What Markdown gives a meaning to, and what would make links of addresses."""


def page_markdown(document: Document) -> str:
    """All chapters, with links to the pictures; details are open."""
    parts = [f"# {escape(document.title)}", escape(document.lead)]
    parts.append("\n".join(f"- {escape(fact)}" for fact in document.facts))
    if document.warning:
        parts.append(f"> {escape(document.warning)}")
    part = ""
    for section in document.sections:
        if section.part != part:
            part = section.part
            parts.append(f"# {escape(part)}")
        parts += [f"## {escape(section.title)}", *map(_block, flat(section.blocks))]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def table_markdown(table: Table) -> str:
    """The table under its title, with its notes below; groups stand in front of their columns."""
    rule = ["---"] + ["---" if column.is_prose else "---:" for column in table.columns]
    lines = [_join(map(escape, table.headings)), _join(rule)]
    lines += [_join([escape(row.title), *map(_cell, row.cells)]) for row in table.rows]
    notes = "".join(f"\n\n{escape(note)}" for note in table.notes)
    return f"{_bold(table.title)}\n\n" + "\n".join(lines) + notes + "\n"


def escape(text: str) -> str:
    """Text that is shown as it is."""
    return SPECIAL.sub(r"\\\1", on_one_line(text))


def _block(block: Block) -> str:
    match block:
        case Table():
            return table_markdown(block)
        case Gallery(pictures):
            return "\n\n".join(
                f"![{escape(p.alt)}](figures/{p.name}.svg)\n\n*{escape(p.caption)}*"
                for p in pictures
            )
        case Code(text):
            # Indented, as no fence is safe from what a name may hold.
            return f"    {on_one_line(text)}"
        case Heading(text):
            return f"### {escape(text)}"
    return escape(str(block))


def _cell(cell: Cell) -> str:
    text = _bold(cell.text) if cell.is_best else escape(cell.text)
    return f"{text} {escape(cell.marks)}" if cell.marks else text


def _bold(text: str) -> str:
    """Bold text; nothing at all cannot be bold."""
    return f"**{escape(text)}**" if on_one_line(text) else ""


def _join(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
