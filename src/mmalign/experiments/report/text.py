"""The report as Markdown, with links to its pictures."""

from collections.abc import Sequence

from mmalign.experiments.report.document import Block, Code, Details, Document, Gallery, Heading
from mmalign.experiments.report.rendering.markdown import escape, table_markdown
from mmalign.experiments.report.table import Table, on_one_line


def page_markdown(document: Document) -> str:
    """All chapters; details are open."""
    parts = [f"# {escape(document.title)}", escape(document.lead)]
    parts.append("\n".join(f"- {escape(fact)}" for fact in document.facts))
    if document.warning:
        parts.append(f"> {escape(document.warning)}")
    for section in document.sections:
        parts += [f"## {escape(section.title)}", *_blocks(section.blocks)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _blocks(blocks: Sequence[Block]) -> list[str]:
    return [part for block in blocks for part in _block(block)]


def _block(block: Block) -> list[str]:
    match block:
        case str():
            return [escape(block)]
        case Table():
            return [table_markdown(block)]
        case Gallery(pictures):
            return [
                f"![{escape(p.alt)}](figures/{p.name}.svg)\n\n*{escape(p.caption)}*"
                for p in pictures
            ]
        case Code(text):
            # Indented, as no fence is safe from what a name may hold.
            return [f"    {on_one_line(text)}"]
        case Details(_, inner, _):
            return _blocks(inner)
        case Heading(text):
            return [f"### {escape(text)}"]
