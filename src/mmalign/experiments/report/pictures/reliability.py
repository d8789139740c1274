"""Accuracy over confidence, one small diagram for each set of modalities."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mmalign.evaluation.calibration import ReliabilityBin
from mmalign.experiments.report.pictures.canvas import Picture, Theme, make_picture, short
from mmalign.experiments.report.reliability import Reliability
from mmalign.experiments.report.subset_scores import subset_title

LARGEST = 160.0
"""Area of the dot that most clips share, in points squared."""

ACROSS, INCHES = 4, 1.9
WIDEST = 20
"""Letters of a title that a diagram is wide enough for."""


def reliability_picture(found: Reliability, name: str) -> Picture:
    """A dot a bin, as large as its number of clips; on the diagonal, probabilities are right."""
    bins = {subset_title(subset): found.bins(subset) for subset in found.drawn}
    across = min(ACROSS, len(bins))
    down = math.ceil(len(bins) / across)

    def draw(figure: Figure, theme: Theme) -> None:
        cells = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, (title, own) in zip(cells, bins.items(), strict=False):
            _draw(axes, in_lines(title), own, theme)
        for axes in cells[len(bins) :]:
            axes.remove()
        figure.supxlabel("confidence, %", fontsize=9)
        figure.supylabel("accuracy, %", fontsize=9)

    lines = max(in_lines(title).count("\n") for title in bins)
    size = (max(3.2, INCHES * across + 0.4), (INCHES + 0.17 * lines) * down + 0.5)
    caption = (
        "Accuracy over confidence on test clips, all seeds together; below the line: too sure."
    )
    return make_picture(name, draw, inches=size, caption=caption, alt=_described(bins))


def in_lines(title: str) -> str:
    """The title, with a line for each modality if one line is too long."""
    names = title.split(" + ") if len(title) > WIDEST else [title]
    return " +\n".join(map(short, names))


def _draw(axes: Axes, title: str, bins: list[ReliabilityBin], theme: Theme) -> None:
    most = max(one.clips for one in bins)
    axes.plot([0, 100], [0, 100], color=theme.lower, linestyle=":", linewidth=1.2)
    axes.scatter(
        [100 * one.confidence for one in bins],
        [100 * one.accuracy for one in bins],
        s=[max(4.0, LARGEST * one.clips / most) for one in bins],
        color=theme.method,
        alpha=0.75,
        linewidths=0,
    )
    axes.set(title=title, xlim=(0, 104), ylim=(0, 104), xticks=(0, 50, 100), yticks=(0, 50, 100))
    axes.set_aspect("equal")
    axes.grid(linewidth=0.8)
    axes.set_axisbelow(True)


def _described(bins: dict[str, list[ReliabilityBin]]) -> str:
    lines = [
        f"{title}: "
        + ", ".join(
            f"{100 * one.confidence:.0f} sure, {100 * one.accuracy:.0f} right, {one.clips} clips"
            for one in own
        )
        for title, own in bins.items()
    ]
    return f"Reliability diagrams. {'. '.join(lines)}."
