"""Which should I use, and how sure is that? Scores of every subset, and the lead of one model."""

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mmalign.experiments.report.main_tables import CONSTANT
from mmalign.experiments.report.measures import Measure
from mmalign.experiments.report.pictures.canvas import (
    Picture,
    Theme,
    make_picture,
    save_png,
    short,
)
from mmalign.experiments.report.subset_scores import Standing, SubsetPanel, subset_title
from mmalign.experiments.systems import ANCHOR, LOWER, ONE_MODEL, STRONG_LOWER

WIDTH = 8.8
TITLES = {LOWER: f"{LOWER}, the paper's network"}
"""What a picture that stands alone calls a system."""


def answer_picture(panel: SubsetPanel, name: str) -> Picture:
    """The picture for a report."""
    standings = panel.standings()
    return make_picture(
        name,
        lambda figure, theme: draw_answer(figure, theme, panel, standings),
        inches=_inches(panel),
        caption=_caption(panel, standings),
        alt=_described(panel, standings),
    )


def save_answer(panel: SubsetPanel, file: Path) -> None:
    """The same as a PNG."""
    standings = panel.standings()
    save_png(file, lambda f, theme: draw_answer(f, theme, panel, standings), _inches(panel))


def draw_answer(
    figure: Figure, theme: Theme, panel: SubsetPanel, standings: list[Standing]
) -> None:
    """Draw a row for each subset: scores on the left, the lead over the best rival beside."""
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(1.25, 1))
    _draw_scores(left, panel, theme)
    _draw_leads(right, panel, standings, theme)
    left.set_yticks(range(len(panel.subsets)), [subset_title(s) for s in panel.subsets])
    left.set_ylim(len(panel.subsets) - 0.5, -0.5)
    for axes in (left, right):
        axes.tick_params(length=0)
        axes.tick_params(axis="y", labelcolor=theme.ink)
        axes.grid(axis="x", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines["left"].set_visible(False)
    figure.legend(loc="outside lower center", ncols=4, handletextpad=0.3, columnspacing=1.4)


def _draw_scores(axes: Axes, panel: SubsetPanel, theme: Theme) -> None:
    """Means over seeds, a mark for each system; the constant is the floor."""
    looks = {
        ONE_MODEL: (theme.method, "o", 64),
        ANCHOR: (theme.floor, "s", 40),
        LOWER: (theme.uniform, "^", 46),
        STRONG_LOWER: (theme.uniform, "v", 46),
    }
    rows, scale = np.arange(len(panel.subsets)), panel.measure.scale
    shift = 0.34 / len(panel.systems)  # so that equals do not hide each other
    for place, system in enumerate(panel.systems):
        colour, marker, size = looks.get(system, (theme.muted, "D", 34))
        means = [scale * panel.mean(system, subset) for subset in panel.subsets]
        kind = "one model" if system not in panel.dedicated else "one per subset"
        label = f"{TITLES.get(system, system)} ({kind})" if "one" not in system else system
        at = rows + shift * (place - (len(panel.systems) - 1) / 2)
        axes.scatter(means, at, s=size, marker=marker, color=colour, label=label, zorder=3)
    floors = [scale * panel.floor(subset, panel.measure) for subset in panel.subsets]
    floor = f"{CONSTANT} answer (floor)"
    axes.scatter(floors, rows, s=90, marker="|", color=theme.muted, label=floor, zorder=3)
    axes.set_title(f"Test {_unit(panel.measure, '%')}, mean over seeds")


def _draw_leads(axes: Axes, panel: SubsetPanel, standings: list[Standing], theme: Theme) -> None:
    """The one model minus the best dedicated system, with its 95 % interval."""
    places = {subset: row for row, subset in enumerate(panel.subsets)}
    for one in standings:
        found, row = one.redrawn or one.change, places[one.subset]
        if found is None:
            continue
        mean, low, high = (panel.measure.scale * v for v in (found.mean, found.low, found.high))
        colour = theme.method if one.verdict > 0 else theme.floor if one.verdict else theme.muted
        axes.plot([low, high], [row, row], color=colour, linewidth=3, solid_capstyle="round")
        axes.plot(mean, row, "o", color=colour, markersize=8)
        text = f"{panel.measure.show_change(found.mean)} against {short(one.rival)}"
        box = {"facecolor": theme.surface, "linewidth": 0, "pad": 1}
        at, style = (mean, row), "offset points"
        axes.annotate(text, at, (0, 8), textcoords=style, ha="center", fontsize=8, bbox=box)
    axes.axvline(0, color=theme.ink, linewidth=1, zorder=1)
    better = "right" if panel.measure.is_higher_better else "left"
    axes.margins(x=0.18)
    axes.set_title(f"{ONE_MODEL} minus the best rival")
    axes.set_xlabel(f"{_unit(panel.measure, 'points')}, 95 % interval; {better} is better")


def _unit(measure: Measure, percent: str) -> str:
    title = measure.title if measure.title.isupper() else measure.title.lower()
    return f"{title}, {percent}" if measure.scale == 100 else title


def _caption(panel: SubsetPanel, standings: list[Standing]) -> str:
    is_redrawn = any(one.redrawn is not None for one in standings)
    over = "resampled seeds and test clips" if is_redrawn else "seeds"
    return (
        f"Every subset of {', '.join(panel.modalities)}. Left: each system's score with "
        f"just these. Right: how far {ONE_MODEL} are ahead, with the 95 % interval over {over}; "
        "blue is clearly better, orange clearly worse, grey not clear."
    )


def _described(panel: SubsetPanel, standings: list[Standing]) -> str:
    told = []
    for one in standings:
        found = one.redrawn or one.change
        show = panel.measure.show_change
        gain = (
            "" if found is None else f"{show(found.mean)} [{show(found.low)}, {show(found.high)}]"
        )
        told.append(f"{subset_title(one.subset)}: {gain} against {one.rival}")
    return (
        f"Dots: {panel.measure.title} of every system and subset; intervals: {ONE_MODEL} minus "
        f"the best dedicated system. {'. '.join(told)}."
    )


def _inches(panel: SubsetPanel) -> tuple[float, float]:
    return WIDTH, 1.35 + 0.48 * len(panel.subsets)
