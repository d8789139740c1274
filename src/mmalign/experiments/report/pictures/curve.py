"""A metric over the window or over epsilon, with bands."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from mmalign.experiments.report.curves import UNIFORM, Curve, Level
from mmalign.experiments.report.measures import Measure, percent
from mmalign.experiments.report.pictures.canvas import Picture, Theme, make_picture, short
from mmalign.experiments.systems import FLOOR, LOWER

AXES = {
    "window": ("window (radius, steps)", 2),
    "epsilon": ("epsilon (entropic regularisation)", 10),
}
"""Label and base of the axis of each suite."""


def curve_picture(suite: str, curve: Curve, name: str) -> Picture:
    """MM-Align over the values of the suite, the references as level lines."""
    title = f"{curve.condition.title}, setting {curve.setting}"

    def draw(figure: Figure, theme: Theme) -> None:
        axes = figure.subplots()
        measure = curve.measure
        _draw_levels(axes, curve, theme)
        _draw_line(axes, curve.points, measure, theme)
        label, base = AXES[suite]
        axes.set_xscale("log", base=base)
        axes.xaxis.set_major_locator(FixedLocator(list(curve.points)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel(label)
        axes.set_ylabel(measure.heading)
        axes.grid(axis="y", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.set_title(
            f"{short(curve.condition.visible)} → {short(curve.condition.victim)}, "
            f"{percent(curve.condition.survival)}, setting {curve.setting}"
        )
        figure.legend(loc="outside lower center", ncols=4, handlelength=1.6, columnspacing=1.2)

    caption = f"{suite.capitalize()}: {title}."
    return make_picture(
        name, draw, inches=(4.7, 3.3), caption=caption, alt=_described(suite, curve)
    )


def _draw_levels(axes: Axes, curve: Curve, theme: Theme) -> None:
    styles = {
        LOWER: (theme.lower, "--"),
        FLOOR: (theme.floor, "-."),
        UNIFORM: (theme.uniform, ":"),
    }
    for name, (colour, dashes) in styles.items():
        if name in curve.references:
            mean, low, high = (curve.measure.scale * v for v in curve.references[name])
            label = "uniform limit" if name == UNIFORM else name
            axes.axhline(mean, color=colour, linestyle=dashes, linewidth=1.4, label=label)
            if not math.isnan(low):
                axes.axhspan(low, high, color=colour, alpha=0.10, linewidth=0)


def _draw_line(axes: Axes, points: dict[float, Level], measure: Measure, theme: Theme) -> None:
    values = list(points)
    levels = measure.scale * np.array([*points.values()]).reshape(-1, 3)
    means, lows, highs = levels.T
    axes.fill_between(values, lows, highs, color=theme.method, alpha=0.18, linewidth=0)
    axes.plot(
        values, means, color=theme.method, marker="o", markersize=4, linewidth=1.8, label="MM-Align"
    )


def _described(suite: str, curve: Curve) -> str:
    show = curve.measure.show
    points = ", ".join(f"{value:g}: {show(level.mean)}" for value, level in curve.points.items())
    levels = ", ".join(f"{name}: {show(level.mean)}" for name, level in curve.references.items())
    return (
        f"Line chart of {curve.measure.title} over {suite}, {curve.condition.title}, setting "
        f"{curve.setting}. MM-Align at {points or 'no value yet'}. References: {levels or 'none'}."
    )
