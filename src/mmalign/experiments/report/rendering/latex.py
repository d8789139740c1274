r"""A table as LaTeX: a `table` that needs `\usepackage{booktabs,graphicx,textcomp}`."""

from mmalign.experiments.report.table import Cell, Row, Table, on_one_line

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


NARROW = 4
"""A table with more columns runs over both columns of a page."""

LONGEST_WORDS = 24
"""Longer texts are broken into lines."""


SHRINK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
"""A table that is wider than the line is set smaller, others as they are."""


def escape(text: str) -> str:
    """Text that is set as it is."""
    return "".join(CHARACTERS.get(character, character) for character in on_one_line(text))


def table_latex(table: Table) -> str:
    """A whole `table` environment; its label is the table's name."""
    kind = "table*" if len(table.columns) > NARROW else "table"
    layout = "l" + "".join(_layout(table, index) for index in range(len(table.columns)))
    caption = " ".join(
        escape(text) for text in (f"{table.title}.", *table.notes, table.legend) if text
    )
    lines = [
        r"% Needs \usepackage{booktabs,graphicx,textcomp}.",
        rf"\begin{{{kind}}}",
        r"\centering",
        r"\footnotesize",
        r"\setlength{\tabcolsep}{4pt}",
        SHRINK,
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        *_head(table),
        r"\midrule",
        *(_line(row) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}}",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def _layout(table: Table, index: int) -> str:
    """Numbers to the right, words to the left, long texts in lines of their own width."""
    if not table.columns[index].is_prose:
        return "r"
    longest = max((len(row.cells[index].text) for row in table.rows), default=0)
    if longest <= LONGEST_WORDS:
        return "l"
    return rf"p{{{0.8 / (len(table.columns) + 1):.2f}\linewidth}}"


def _head(table: Table) -> list[str]:
    titles = _join([escape(table.corner), *(escape(column.title) for column in table.columns)])
    if not table.groups:
        return [titles]
    spans, rules, first = [], [], 2
    for name, count in table.groups:
        spans.append(rf"\multicolumn{{{count}}}{{c}}{{{escape(name)}}}")
        rules.append(rf"\cmidrule(lr){{{first}-{first + count - 1}}}" if name else "")
        first += count
    return [_join(["", *spans]), "".join(rules), titles]


def _line(row: Row) -> str:
    rule = "\\midrule\n" if row.starts_group else ""
    return rule + _join([escape(row.title), *map(_cell, row.cells)])


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    return (rf"\textbf{{{text}}}" if cell.is_best else text) + escape(cell.marks)


def _join(cells: list[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
