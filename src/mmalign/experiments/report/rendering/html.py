"""The report as one HTML file that asks for nothing from outside."""

import base64
import hashlib
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mmalign.experiments.report.document import Document
from mmalign.experiments.report.table import MARKS, Table, on_one_line


def page_html(document: Document) -> str:
    """The whole page: style and pictures are inside, and a policy forbids all else."""
    style = resources.files(__package__).joinpath("templates/page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = _environment().get_template("page.html")
    return page.render(document=document, style=Markup(style), digest=digest)  # noqa: S704 (ours)


def table_html(table: Table) -> str:
    """One table."""
    blocks: Any = _environment().get_template("blocks.html").module
    return str(blocks.table(table))


def _environment() -> Environment:
    """Templates whose every text is put on one line and escaped."""
    made = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_one_line,
    )
    made.filters |= {"kind": lambda block: type(block).__name__, "data_uri": _data_uri}
    made.globals["marks"] = MARKS
    return made


def _data_uri(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def _one_line(value: Any) -> Any:
    """Text on one line; what is marked up already stays as it is."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else on_one_line(value)
