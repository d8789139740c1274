"""The pages that users read, and what they show: Python, commands, names."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language; commands have none."""
    fenced = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
    found = fenced.findall(page.read_text(encoding="utf-8"))
    return [text for name, text in found if name == language]


def commands(page: Path) -> Iterator[str]:
    """Every `mmalign …`: in backticks, or a line of a block with the indented lines below it."""
    for block in blocks(page, ""):
        yield from re.findall(r"^mmalign (.*(?:\n[ \t]+.*)*)", block, re.MULTILINE)
    yield from code_spans(page, r"mmalign ([a-z].*)")


def code_spans(page: Path, pattern: str) -> list[str]:
    """What a pattern finds in backticks that it matches as a whole."""
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", prose)
    return [found.group(1) for span in spans if (found := re.fullmatch(pattern, span))]
