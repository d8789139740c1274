"""What a report says, in order: sections of paragraphs, tables and pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mmalign.experiments.report.pictures.canvas import Picture
from mmalign.experiments.report.table import Table


@dataclass(frozen=True)
class Gallery:
    """Pictures side by side, where there is room."""

    pictures: Sequence[Picture]


@dataclass(frozen=True)
class Code:
    """A line to copy."""

    text: str


@dataclass(frozen=True)
class Heading:
    """The start of a part of a section."""

    text: str


@dataclass(frozen=True)
class Details:
    """Blocks that are folded away under a summary."""

    summary: str
    blocks: "Sequence[Block]"
    is_open: bool = False


Block = str | Table | Gallery | Code | Details | Heading
"""A paragraph, or one of the others."""


@dataclass(frozen=True)
class Section:
    """A chapter.

    Attributes:
        name: Where links go.
        title: Its heading.
        blocks: What it holds, in order.
        part: The dataset it is about; empty if the report has but one.
    """

    name: str
    title: str
    blocks: Sequence[Block]
    part: str = ""


@dataclass(frozen=True)
class Document:
    """The whole report.

    Attributes:
        title: Its heading.
        lead: What was compared on what, in a sentence.
        facts: Short facts about its extent.
        warning: What is not finished; empty if all is.
        sections: The chapters.
    """

    title: str
    lead: str
    facts: Sequence[str]
    warning: str
    sections: Sequence[Section]

    def tables(self) -> list[Table]:
        """Every table, also those in details."""
        return [block for block in self._flat() if isinstance(block, Table)]

    def pictures(self) -> list[Picture]:
        """Every picture."""
        return [p for block in self._flat() if isinstance(block, Gallery) for p in block.pictures]

    def _flat(self) -> list[Block]:
        return [b for section in self.sections for b in flat(section.blocks)]


def renamed(block: Block, prefix: str) -> Block:
    """The same with a prefix to the names of its tables and pictures."""
    match block:
        case Table(name):
            return replace(block, name=f"{prefix}-{name}")
        case Gallery(pictures):
            return Gallery([replace(p, name=f"{prefix}-{p.name}") for p in pictures])
        case Details(_, blocks):
            return replace(block, blocks=[renamed(inner, prefix) for inner in blocks])
    return block


def flat(blocks: Sequence[Block]) -> Iterator[Block]:
    """All blocks, with those in details in their place."""
    for block in blocks:
        if isinstance(block, Details):
            yield from flat(block.blocks)
        else:
            yield block
