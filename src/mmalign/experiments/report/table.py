"""A table as plain values; small renderers turn it into HTML, Markdown, LaTeX and CSV."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

MARKS = {"▲": "clearly better than zero-fill", "▼": "clearly worse than zero-fill"} | {
    "†": "clearly better than LB",
    "‡": "clearly worse than LB",
}


@dataclass(frozen=True)
class Cell:
    """One entry.

    Attributes:
        text: What it says.
        marks: Significance marks that follow it.
        is_best: Whether it stands out as the best of its column.
        is_faint: Whether it is set in grey: absent, or to be read with its note only.
    """

    text: str
    marks: str = ""
    is_best: bool = False
    is_faint: bool = False

    @property
    def plain(self) -> str:
        """Text and marks."""
        return f"{self.text} {self.marks}" if self.marks else self.text


ABSENT = Cell("–", is_faint=True)


@dataclass(frozen=True)
class Column:
    """A heading; neighbours of one group share a heading above. Prose is set to the left."""

    title: str
    group: str = ""
    is_prose: bool = False


@dataclass(frozen=True)
class Row:
    """A line; the first of a group is set off from the lines above."""

    title: str
    cells: Sequence[Cell]
    starts_group: bool = False


@dataclass(frozen=True)
class Table:
    """Lines of cells under headings.

    Attributes:
        name: Its file name, without an ending.
        title: One line for people.
        corner: Heading of the first column.
        columns: The other columns.
        rows: The lines, each with a cell for every column.
        notes: Sentences below it.
        legend: What a reader needs without the page around it; LaTeX sets it in the caption.
    """

    name: str
    title: str
    corner: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    legend: str = ""

    @property
    def headings(self) -> list[str]:
        """Headings of all columns on one line, their groups in front of them."""
        grouped = (f"{c.group}: {c.title}" if c.group else c.title for c in self.columns)
        return [self.corner, *grouped]

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Headings over the headings, with the number of columns of each; none if all are empty."""
        runs = groupby(column.group for column in self.columns)
        found = [(name, len(list(columns))) for name, columns in runs]
        return found if any(name for name, _ in found) else []


def prose_table(
    name: str, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> Table:
    """A table of words."""
    columns = [Column(heading, is_prose=True) for heading in headings[1:]]
    lines = [Row(first, [Cell(text) for text in rest]) for first, *rest in rows]
    return Table(name, title, headings[0], columns, lines)


UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Controls, line and paragraph breaks, changes of direction, halves of characters."""


def on_one_line(text: str) -> str:
    """The text without line breaks and controls, which no cell, page or picture can hold."""
    return " ".join(UNPRINTABLE.sub(" ", text).split())


def slug(text: str) -> str:
    """A part of a file name: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:24] or "x"
