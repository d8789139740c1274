"""The report as one HTML file that asks for nothing from outside."""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

from mmalign.experiments.report.document import (
    Block,
    Code,
    Details,
    Document,
    Gallery,
    Heading,
    Section,
)
from mmalign.experiments.report.pictures.canvas import Picture
from mmalign.experiments.report.rendering.html import escape, table_html
from mmalign.experiments.report.table import Table

WIDE_INCHES = 5.0
"""Wider pictures get a line of their own."""


def page_html(document: Document) -> str:
    """The whole page: style and pictures are inside, and a policy forbids all else."""
    style = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'"
    links = "".join(
        f'<li><a href="#{section.name}">{escape(section.title)}</a></li>'
        for section in document.sections
    )
    facts = "".join(f"<li>{escape(fact)}</li>" for fact in document.facts)
    warning = f"<p class=warning>{escape(document.warning)}</p>" if document.warning else ""
    sections = "\n".join(_section(section) for section in document.sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="mmalign report">
<title>{escape(document.title)}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<h1>{escape(document.title)}</h1>
<p class="lead">{escape(document.lead)}</p>
<ul class="facts">{facts}</ul>
{warning}
</header>
<div class="columns">
<nav aria-label="Sections"><ol>{links}</ol></nav>
<main id="content">
{sections}
</main>
</div>
<footer><p>Made by <code>mmalign report</code> from the results of a grid; every number is in
<code>tables/</code> beside this file, the score of every run in <code>tables/scores.csv</code>.</p>
</footer>
</body>
</html>
"""


def _section(section: Section) -> str:
    return (
        f'<section id="{section.name}" aria-labelledby="{section.name}-title">'
        f'<h2 id="{section.name}-title">{escape(section.title)}</h2>\n'
        f"{_blocks(section.blocks)}\n</section>"
    )


def _blocks(blocks: Sequence[Block]) -> str:
    return "\n".join(_block(block) for block in blocks)


def _block(block: Block) -> str:
    match block:
        case str():
            return f"<p>{escape(block)}</p>"
        case Table():
            return table_html(block)
        case Gallery(pictures):
            return f"<div class=gallery>{''.join(map(_picture, pictures))}</div>"
        case Code(text):
            return f"<pre tabindex=0><code>{escape(text)}</code></pre>"
        case Details(summary, inner, is_open):
            state = " open" if is_open else ""
            return (
                f"<details{state}><summary>{escape(summary)}</summary>\n{_blocks(inner)}</details>"
            )
        case Heading(text):
            return f"<h3>{escape(text)}</h3>"


def _picture(picture: Picture) -> str:
    kind = "picture wide" if picture.inches[0] > WIDE_INCHES else "picture"
    width, height = (round(96 * inches) for inches in picture.inches)
    return (
        f'<figure class="{kind}"><div class=scroll role=region tabindex=0 '
        f'aria-label="{escape(picture.caption)}"><picture>'
        f'<source media="(prefers-color-scheme: dark)" srcset="{_data(picture.dark)}">'
        f'<img src="{_data(picture.light)}" alt="{escape(picture.alt)}" width="{width}" '
        f'height="{height}"></picture></div>'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def _data(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
