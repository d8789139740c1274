"""A metric over the missing rate, with bands."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mmalign.experiments.report.curves import Level
from mmalign.experiments.report.main_tables import CONSTANT
from mmalign.experiments.report.measures import Measure
from mmalign.experiments.report.pictures.canvas import Picture, Theme, make_picture
from mmalign.experiments.report.rates import RatePanel
from mmalign.experiments.subset_suites import TRAINED_SO
from mmalign.experiments.systems import ANCHOR, LOWER, ONE_MODEL


def rate_picture(panel: RatePanel, name: str, *, label: str) -> Picture:
    """A line for each system; the constant is a level."""
    measure = panel.measure

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.subplots()
        for system in panel.systems:
            _draw_line(axes, system, panel.levels(system), measure, theme)
        if panel.floor == panel.floor:
            level = measure.scale * panel.floor
            axes.axhline(level, color=theme.lower, linestyle=":", linewidth=1.4, label=CONSTANT)
        axes.set_xticks(panel.rates, [f"{100 * rate:g}" for rate in panel.rates])
        axes.set_xlabel(label)
        axes.set_ylabel(measure.heading)
        axes.grid(axis="y", linewidth=0.8)
        axes.set_axisbelow(True)
        figure.legend(loc="outside lower center", ncols=2, handlelength=2.4, columnspacing=1.2)

    names = ", ".join(panel.modalities)
    caption = f"{measure.heading} over {label}: {names}."
    return make_picture(name, draw, inches=(5.4, 3.5), caption=caption, alt=_described(panel))


def _draw_line(
    axes: Axes, system: str, levels: dict[float, Level], measure: Measure, theme: Theme
) -> None:
    known = {ONE_MODEL: theme.method, ANCHOR: theme.floor, LOWER: theme.uniform}
    colour = known.get(system.removesuffix(TRAINED_SO), theme.ink)
    dashes = "--" if system.endswith(TRAINED_SO) else "-"
    means, lows, highs = (measure.scale * np.array([*levels.values()]).reshape(-1, 3)).T
    rates = list(levels)
    axes.fill_between(rates, lows, highs, color=colour, alpha=0.15, linewidth=0)
    axes.plot(
        rates, means, dashes, color=colour, marker="o", markersize=4, linewidth=1.8, label=system
    )


def _described(panel: RatePanel) -> str:
    show = panel.measure.show
    lines = [
        f"{system} at "
        + ", ".join(f"{rate:g}: {show(level.mean)}" for rate, level in panel.levels(system).items())
        for system in panel.systems
    ]
    return (
        f"Line chart of {panel.measure.title} over the missing rate. {'. '.join(lines)}. "
        f"{CONSTANT}: {show(panel.floor)}."
    )
