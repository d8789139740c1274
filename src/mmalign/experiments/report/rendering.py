"""Tables and whole reports as HTML, Markdown, LaTeX and CSV.

Each format has its templates, and a rule by which every text in them is shown as it is.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mmalign.experiments.report.document import Document, flat
from mmalign.experiments.report.table import MARKS, Table, on_one_line
from mmalign.files import csv_bytes

SYMBOLS = {"±": "pm", "→": "to", "↑": "uparrow", "↓": "downarrow"}
SYMBOLS |= {"×": "times", "·": "cdot", "≥": "geq", "≤": "leq"}
RAISED = {"▲": "bigtriangleup", "▼": "bigtriangledown", "†": "dagger", "‡": "ddagger"}
CHARACTERS = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "{}$&#_%"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    # After a line break, these would be read as its arguments.
    **{character: f"{{{character}}}" for character in "*[]"},
    **{symbol: f"$\\{name}$" for symbol, name in SYMBOLS.items()},
    "−": r"$-$",
    "–": r"\textendash{}",
    "…": r"\textellipsis{}",
    "“": "``",
    "”": "''",
    **{mark: rf"$^{{\{name}}}$" for mark, name in RAISED.items()},
}
"""What LaTeX gives a meaning to, or cannot set, and how to write it."""

SHRINK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
"""A table that is wider than the line is set smaller, others as they are."""

LONGEST_WORDS = 24
"""Longer texts are broken into lines in LaTeX."""

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&!@^]|:(?=//))")
"""What Markdown gives a meaning to, and what would make links of addresses."""


def page_html(document: Document) -> str:
    """The whole page: style and pictures are inside, and a policy forbids all else."""
    style = resources.files(__package__).joinpath("templates/page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = _html().get_template("page.html")
    return page.render(document=document, style=Markup(style), digest=digest)  # noqa: S704 (ours)


def table_html(table: Table) -> str:
    """One table of a page."""
    blocks: Any = _html().get_template("blocks.html").module
    return str(blocks.table(table))


def page_markdown(document: Document) -> str:
    """All chapters, with links to the pictures; details are open."""
    return _plain(escape_markdown).get_template("page.md").render(document=document)


def table_markdown(table: Table) -> str:
    """The table under its title, with its notes below; groups stand in front of their columns."""
    return _plain(escape_markdown).get_template("table.md").render(table=table)


def table_latex(table: Table) -> str:
    r"""A `table` that needs `\usepackage{booktabs,graphicx,textcomp}`; its name is its label."""
    return _latex().get_template("table.tex").render(table=table)


def table_csv(table: Table) -> bytes:
    """The table as it is printed; groups stand in front of their columns."""
    rows = ([row.title, *(cell.plain for cell in row.cells)] for row in table.rows)
    return rows_csv(table.headings, rows)


def rows_csv(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Lines of values under headings, each value on one line; numbers keep every digit."""
    lines = ([on_one_line(f"{value}") for value in row] for row in rows)
    return csv_bytes([on_one_line(heading) for heading in headings], lines)


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    return SPECIAL.sub(r"\\\1", on_one_line(text))


def escape_latex(text: str) -> str:
    """Text that LaTeX sets as it is."""
    return "".join(CHARACTERS.get(character, character) for character in on_one_line(text))


@cache
def _html() -> Environment:
    return _environment(on_one_line, autoescape=True)


@cache
def _plain(escape: Callable[[str], str]) -> Environment:
    return _environment(escape, autoescape=False)


@cache
def _latex() -> Environment:
    """Braces belong to LaTeX, so angles mark what is filled in."""
    return _plain(escape_latex).overlay(
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
    )


def _environment(show: Callable[[str], str], *, autoescape: bool) -> Environment:
    """Templates that pass every text through `show`; what is marked as safe stays as it is."""
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=autoescape,  # noqa: S701 (Markdown and LaTeX have rules of their own)
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=not autoescape,
        finalize=lambda v: show(v) if isinstance(v, str) and not isinstance(v, Markup) else v,
    )
    made.filters |= {"kind": lambda block: type(block).__name__, "data_uri": _data_uri}
    made.filters |= {"flat": flat, "one_line": on_one_line, "layout": _layout}
    made.globals |= {"marks": MARKS, "shrink": Markup(SHRINK)}  # noqa: S704 (ours)
    return made


def _data_uri(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def _layout(table: Table) -> Markup:
    """Columns of LaTeX: numbers to the right, words to the left, long texts broken into lines."""
    kinds = ["l"]
    for index, column in enumerate(table.columns):
        longest = max((len(row.cells[index].text) for row in table.rows), default=0)
        share = rf"p{{{0.8 / (len(table.columns) + 1):.2f}\linewidth}}"
        words = "l" if longest <= LONGEST_WORDS else share
        kinds.append(words if column.is_prose else "r")
    return Markup("".join(kinds))  # noqa: S704 (ours)
