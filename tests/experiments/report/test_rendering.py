"""One table in four formats: whatever a name holds, it is shown as it is."""

import csv
import io
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mmalign.experiments.report.rendering import (
    CHARACTERS,
    SHRINK,
    escape_latex,
    table_csv,
    table_html,
    table_latex,
    table_markdown,
)
from mmalign.experiments.report.table import Cell, Column, Row, Table, on_one_line, slug

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "a & b &amp; c",
    "x_1^2 {%} $5 #1 ~ \\input{/etc/passwd}",
    "| pipe | `code` **bold** [a](http://b) ![i](j) https://c.d <e@f.g>",
    "*star first",
    "[bracket first]",
    "line\nbreak\r\nand\x00null\u2028end",
    "\ud800half \u202ereversed",
    "",
)
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30))


def made_table(first: str, second: str, third: str) -> Table:
    columns = [Column(second, "Group"), Column("plain", is_prose=True)]
    rows = [
        Row(first, [Cell(third, "▲†", is_best=True), Cell(first)]),
        Row("second", [Cell("–", is_faint=True), Cell(second)], starts_group=True),
    ]
    return Table("name", third, "System", columns, rows, notes=(first,), legend=second)


class Cells(HTMLParser):
    """Texts of the cells, and every tag that is there."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.inside = False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.inside = True
            self.cells.append("")

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data


def body(table: Table) -> list[str]:
    return [
        text
        for row in table.rows
        for text in (on_one_line(row.title), *(on_one_line(c.text) + c.marks for c in row.cells))
    ]


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(texts, texts, texts)
def test_html_shows_every_text_and_has_no_tag_but_ours(first, second, third):
    table = made_table(first, second, third)
    page = Cells()
    page.feed(table_html(table))
    assert [squeezed(c) for c in page.cells[-6:]] == [squeezed(c) for c in body(table)]
    known = {"figure", "figcaption", "div", "table", "thead", "tbody", "tr", "th", "td"}
    assert set(page.tags) <= known | {"strong", "abbr", "p"}


@given(texts, texts, texts)
def test_markdown_shows_every_text_to_a_real_reader(first, second, third):
    table = made_table(first, second, third)
    reader = MarkdownIt("gfm-like", {"linkify": False})
    page = Cells()
    page.feed(reader.render(table_markdown(table)))
    assert [squeezed(c) for c in page.cells[-6:]] == [squeezed(c) for c in body(table)]
    assert not {"script", "img", "a", "code", "em"} & set(page.tags)


@given(texts, texts, texts)
def test_latex_can_be_undone_and_has_no_command_but_ours(first, second, third):
    text = table_latex(made_table(first, second, third))
    known = {
        "begin",
        "end",
        "centering",
        "footnotesize",
        "tabcolsep",
        "linewidth",
        "toprule",
        "midrule",
        "bottomrule",
        "cmidrule",
    }
    known |= {
        "multicolumn",
        "textbf",
        "caption",
        "label",
        "setlength",
        "to",
        "pm",
        "times",
        "geq",
        "leq",
    }
    known |= {"cdot", "uparrow", "downarrow", "bigtriangleup", "bigtriangledown", "dagger"}
    known |= {"resizebox", "ifdim", "width", "else", "fi"}
    known |= {"ddagger", "usepackage"} | set(re.findall(r"\\(text[a-z]+)", str(CHARACTERS)))
    assert set(re.findall(r"\\([a-zA-Z]+)", text)) <= known
    bare = re.sub(r"\\[\\{}$&#_%]", "", text.partition("\n")[2])
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert not set(bare.replace(SHRINK, "")) & set("#%~\x00")


@given(texts)
def test_an_escaped_text_says_the_same(text):
    back = escape_latex(text)
    for character, command in sorted(CHARACTERS.items(), key=lambda item: -len(item[1])):
        back = back.replace(command, f"\x01{ord(character)}\x02")
    back = re.sub("\x01(\\d+)\x02", lambda found: chr(int(found[1])), back)
    assert back == on_one_line(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_every_line_of_latex_has_as_many_cells(text):
    lines = table_latex(made_table(text, text, text)).splitlines()
    rows = [line for line in lines if line.endswith("\\\\")]
    assert len(rows) == 4  # groups, headings, two lines
    assert not any(line.startswith(("*", "[")) for line in lines)
    for row in rows:
        spanned = sum(int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d)\}", row))
        assert len(re.findall(r"(?<!\\)&", row)) + spanned == 2


PREAMBLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{booktabs,graphicx,textcomp}
\begin{document}
"""


def typeset(texts: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    tables = "\n".join(table_latex(made_table(text, text, text)) for text in texts)
    (folder / "all.tex").write_text(PREAMBLE + tables + r"\end{document}")
    command = ["pdflatex", "-no-shell-escape", "-halt-on-error", "all.tex"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")


needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")


@needs_latex
def test_latex_compiles_whatever_a_name_holds(tmp_path):
    done = typeset([*filter(str.isascii, HOSTILE), "".join(CHARACTERS)], tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]


@needs_latex
def test_no_table_is_wider_than_its_line(tmp_path):
    done = typeset(["many words " * 20], tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


@given(texts, texts, texts)
def test_csv_holds_every_text(first, second, third):
    table = made_table(first, second, third)
    rows = list(csv.reader(io.StringIO(table_csv(table).decode())))
    assert rows[0] == ["System", on_one_line(f"Group: {second}"), "plain"]
    assert squeezed("".join(rows[1])) == squeezed("".join(body(table)[:3]))
    assert {len(row) for row in rows} == {3}


@given(texts)
def test_what_is_on_one_line_can_be_encoded_and_has_no_controls(text):
    line = on_one_line(text)
    line.encode()
    assert line == line.strip()
    assert not any(ord(character) < 32 for character in line)


@given(texts)
def test_slugs_are_safe_file_names(text):
    assert re.fullmatch(r"[a-z0-9-]{1,24}", slug(text))
