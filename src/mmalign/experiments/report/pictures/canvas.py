"""From a drawing function to a picture: the same figure on a light and on a dark page."""

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from mmalign.experiments.report.table import on_one_line
from mmalign.files import write_atomically


@dataclass(frozen=True)
class Theme:
    """Colours of a page; the accents can be told apart by people who see fewer colours.

    Attributes:
        ink: Text and axes.
        muted: Ticks and lesser text.
        line: Grid lines.
        surface: Behind the figure.
        void: Where there is nothing at all.
        method: The method itself.
        lower: LB.
        floor: Zero-fill.
        uniform: The uniform limit.
    """

    ink: str
    muted: str
    line: str
    surface: str
    void: str
    method: str
    lower: str
    floor: str
    uniform: str


COLOURS = {
    "ink": ("#1c2430", "#e6eaf0"),
    "muted": ("#566173", "#a3adbd"),
    "line": ("#e3e7ee", "#2b3442"),
    "surface": ("#ffffff", "#171c24"),
    "void": ("#eef1f5", "#202834"),
    "method": ("#0b63b0", "#62b0f5"),
    "lower": ("#6b7280", "#a7b0be"),
    "floor": ("#c2500a", "#f0a35e"),
    "uniform": ("#0f7f60", "#57cba6"),
}
"""Each colour on a light and on a dark page."""

LIGHT, DARK = (Theme(*colours) for colours in zip(*COLOURS.values(), strict=True))

LONGEST_LABEL = 24
Draw = Callable[[Figure, Theme], None]


@dataclass(frozen=True)
class Picture:
    """A figure.

    Attributes:
        name: Its file name, without an ending.
        caption: What stands below it.
        alt: What it shows, for those who do not see it.
        light: SVG for a light page.
        dark: SVG for a dark page.
        inches: Width and height; wide ones scroll on a phone.
    """

    name: str
    caption: str
    alt: str
    light: bytes
    dark: bytes
    inches: tuple[float, float]


def make_picture(
    name: str, draw: Draw, *, inches: tuple[float, float], caption: str, alt: str
) -> Picture:
    """Draw a figure for both pages."""
    light = _svg(draw, LIGHT, inches)
    return Picture(name, caption, alt, light, _darkened(light), inches)


def save_png(file: Path, draw: Draw, inches: tuple[float, float]) -> None:
    """Draw a figure for a light page into a file of its own."""
    with mpl.rc_context(_style(LIGHT)):
        figure = Figure(figsize=inches, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure, LIGHT)
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=150)
    write_atomically(file, stream.getvalue())


def short(text: str) -> str:
    """A label that leaves room for the picture."""
    line = on_one_line(text)
    return line if len(line) <= LONGEST_LABEL else line[: LONGEST_LABEL - 1] + "…"


def _svg(draw: Draw, theme: Theme, inches: tuple[float, float]) -> bytes:
    """The same bytes every time; letters stay letters, so that any word can be shown."""
    stream = io.BytesIO()
    with mpl.rc_context(_style(theme)), warnings.catch_warnings():
        # The reader's fonts show what matplotlib's own font, used for measuring, lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=inches, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure, theme)
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def _darkened(svg: bytes) -> bytes:
    """The same picture in the colours of a dark page; drawing it again would take twice as long."""
    colours = {light.encode(): dark.encode() for light, dark in COLOURS.values()}
    return re.sub(b"|".join(colours), lambda found: colours[found[0]], svg)


def _style(theme: Theme) -> dict[Any, Any]:
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": "mmalign",
        "text.parse_math": False,
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": theme.muted,
        "axes.labelcolor": theme.ink,
        "axes.titlecolor": theme.ink,
        "text.color": theme.ink,
        "xtick.color": theme.muted,
        "ytick.color": theme.muted,
        "grid.color": theme.line,
        "figure.facecolor": theme.surface,
        "axes.facecolor": theme.surface,
        "savefig.facecolor": theme.surface,
        "legend.frameon": False,
        "legend.fontsize": 8,
    }
