"""A picture of a search: which settings mattered, and where their good values lie."""

import io
from collections.abc import Callable, Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mmalign.data.task import Classification
from mmalign.experiments.tuning.search import Search
from mmalign.experiments.tuning.spaces import Choice, Dimension, Value
from mmalign.experiments.tuning.trial import Trial, ranked
from mmalign.files import write_atomically

BLUE, RED, GREY = "#3b6ea5", "#c0504d", "#8a8577"
MOST_PANELS = 4
FEW_TRIALS = 20


def draw_search(
    search: Search, trials: list[Trial], importances: Mapping[str, float], file: Path
) -> None:
    """Draw the importance of every setting, and the score against the values of the top ones.

    Args:
        search: What was searched.
        trials: Its trials.
        importances: Share of each setting, largest first; empty if there are too few trials.
        file: The picture.
    """
    shown = list(importances or search.searched.dimensions)[:MOST_PANELS]
    height = max(3.2, 0.28 * len(search.searched.dimensions) + 1.3)
    figure = Figure(figsize=(4.4 + 2.7 * len(shown), height), layout="constrained")
    axes = figure.subplots(
        1, 1 + len(shown), width_ratios=[1.35] + [1] * len(shown), squeeze=False
    )[0]
    _draw_importances(axes[0], importances)
    for panel, name in zip(axes[1:], shown, strict=True):
        _draw_scores(panel, name, search.searched.dimensions[name], trials)
        panel.sharey(axes[1])
    axes[1].set_ylabel(f"validation score ({score_name(search)})", fontsize=9)
    for panel in axes[2:]:
        panel.tick_params(labelleft=False)
    protocol = search.protocol
    best = ranked(trials)
    title = (
        f"{search.method}, {protocol.visible} without {protocol.victim}, survival "
        f"{protocol.survival:g}, setting {protocol.setting}: {len(best)} complete trials"
    )
    if best:
        title += f", best {best[0].score:.3f} (trial {best[0].number})"
    figure.suptitle(title, fontsize=10, parse_math=False)
    marks = "★ best   × diverged" if any(t.state == "diverged" for t in trials) else "★ best"
    caution = "   few trials: importance is a hint only" if len(best) < FEW_TRIALS else ""
    figure.supxlabel(marks + caution, fontsize=8, color=GREY)
    sink = io.BytesIO()
    figure.savefig(sink, dpi=120, format="png")
    write_atomically(file, sink.getvalue())


def score_name(search: Search) -> str:
    """Name of the score, which is better if larger."""
    return "weighted F1" if isinstance(search.dataset.task, Classification) else "−MAE"


def _draw_importances(axes: Axes, importances: Mapping[str, float]) -> None:
    axes.set_title("importance (share, PED-ANOVA)", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    if not importances:
        axes.set_axis_off()
        text = "too few complete trials\nto tell what matters"
        axes.text(0.5, 0.5, text, ha="center", va="center", color=GREY, transform=axes.transAxes)
        return
    names, shares = list(importances), list(importances.values())
    bars = axes.barh(names, shares, color=BLUE, height=0.65)
    axes.bar_label(bars, labels=[f"{share:.0%}" for share in shares], padding=3, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.18 * max(*shares, 1e-9))
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="y", length=0, labelsize=8)


def _draw_scores(axes: Axes, name: str, dimension: Dimension, trials: list[Trial]) -> None:
    complete = ranked(trials)
    place = _places(axes, dimension)
    values = [place(trial.point[name]) for trial in complete]
    scores = [trial.score for trial in complete]
    axes.plot(values, scores, "o", color=BLUE, alpha=0.65, markersize=5)
    if complete:
        axes.plot(values[:1], scores[:1], "*", color=RED, markersize=14, markeredgecolor="white")
    diverged = [place(trial.point[name]) for trial in trials if trial.state == "diverged"]
    if diverged:
        # They have no score: at the lower edge, whatever the scores of the others are.
        edge = axes.get_xaxis_transform()
        axes.plot(diverged, [0.03] * len(diverged), "x", color=RED, transform=edge)
    axes.set_title(name, fontsize=9, parse_math=False)
    axes.grid(axis="y", color="#e6e2d8", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def _places(axes: Axes, dimension: Dimension) -> Callable[[Value], float]:
    """Prepare the axis of a setting; returns where on it a value lies."""
    if isinstance(dimension, Choice):
        values = dimension.values
        # Numbers in their order; words and switches as they were listed.
        ordered = values if isinstance(values[0], bool | str) else sorted(values, key=float)
        axes.set_xticks(range(len(ordered)), [str(value) for value in ordered])
        axes.set_xlim(-0.6, len(ordered) - 0.4)
        return lambda value: float(ordered.index(value))
    low, high = dimension.low, dimension.high
    if dimension.is_log:
        axes.set_xscale("log")
        margin = (high / low) ** 0.05
        axes.set_xlim(low / margin, high * margin)
    else:
        margin = 0.05 * (high - low)
        axes.set_xlim(low - margin, high + margin)
    return float
