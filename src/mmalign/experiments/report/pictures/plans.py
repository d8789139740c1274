"""Mean plans of solver and fitter as heat maps."""

import math
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mmalign.experiments.report.pictures.canvas import Picture, Theme, make_picture, short
from mmalign.experiments.report.runs import Run

Plan = Float[np.ndarray, "steps columns"]


def plans_picture(run: Run, name: str) -> Picture:
    """Where the mass is on average; steps that the window does not reach stay empty."""
    result, job = run.result, run.entry.job
    plans = {maker: _plan(result, maker) for maker in ("solver", "fitter")}
    title = f"{run.condition.pair}, {run.entry.system}"

    def draw(figure: Figure, theme: Theme) -> None:
        panels = figure.subplots(1, 2, sharey=True)
        brightest = max(float(plan.max(initial=0)) for plan in plans.values()) or 1.0
        colours = mpl.colormaps["viridis"].with_extremes(bad=(0, 0, 0, 0))
        for axes, (maker, plan) in zip(panels, plans.items(), strict=True):
            image = axes.imshow(
                np.ma.masked_equal(plan, 0.0), cmap=colours, vmin=0, vmax=brightest, aspect="equal"
            )
            _draw_edge(axes, plan, theme)
            axes.set_facecolor(theme.void)
            axes.set_title(maker)
            axes.set_xlabel(f"{short(job.victim)} step")
            axes.tick_params(length=2)
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
            axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        panels[0].set_ylabel(f"{short(job.visible)} step")
        bar = figure.colorbar(image, ax=list(panels), label="mean mass", shrink=0.8)
        bar.outline.set_visible(False)

    caption = f"{title}: mean of {result['clips']} clips, window {result['window']}."
    alt = (
        f"Two heat maps of mean transport mass for {title}. {_heaviest(plans['solver'])} "
        f"Rows are steps of {job.visible}, columns steps of {job.victim}."
    )
    return make_picture(name, draw, inches=(4.9, 2.7), caption=caption, alt=alt)


def _plan(result: Mapping[str, Any], maker: str) -> Plan:
    """The plan without the columns on its right that are empty for solver and fitter alike."""
    both = np.maximum(np.array(result["solver"]), np.array(result["fitter"]))
    used = np.flatnonzero(both.any(axis=0))
    return np.array(result[maker], dtype=np.float64)[:, : int(used.max(initial=0)) + 1]


def _draw_edge(axes: Axes, plan: Plan, theme: Theme) -> None:
    """Steps around what has mass."""
    rows = [row for row in range(len(plan)) if plan[row].any()]
    if not rows:
        return
    filled = [np.flatnonzero(plan[row]) for row in rows]
    edges = np.array([*rows, rows[-1] + 1]) - 0.5
    for side in (
        [columns[0] - 0.5 for columns in filled],
        [columns[-1] + 0.5 for columns in filled],
    ):
        axes.stairs(
            side, edges, orientation="horizontal", baseline=None, color=theme.floor, linewidth=1.1
        )


def _heaviest(plan: Plan) -> str:
    """Where the heaviest entries are, in words."""
    if not plan.any():
        return "There is no mass."
    heaviest = [int(np.argmax(row)) - index for index, row in enumerate(plan) if row.any()]
    lag = math.floor(float(np.median(heaviest)) + 0.5)
    return f"In the solver's, the heaviest entry of a row is {lag:+d} steps off the diagonal."
