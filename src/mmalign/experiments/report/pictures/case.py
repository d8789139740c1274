"""One clip: the visible steps above, the victim's below, joined by lines where there is mass."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from mmalign.experiments.report.modalities import modality_of
from mmalign.experiments.report.pictures.canvas import Picture, Theme, make_picture, short
from mmalign.experiments.report.runs import Run
from mmalign.experiments.report.table import on_one_line

MOST_LINES = 1500
"""More cannot be told apart, and would make the page heavy."""

STEPS_AN_INCH = 3.2
NARROWEST, WIDEST = 7.4, 16.0

Positions = Float[np.ndarray, " steps"]


def case_picture(run: Run, name: str) -> Picture:
    """The clip's plans, the solver's above the fitter's."""
    result, job = run.result, run.entry.job
    steps = int(result["visible_steps"]), int(result["victim_steps"])
    width = float(np.clip(max(steps) / STEPS_AN_INCH, NARROWEST, WIDEST))
    top, bottom = (positions(result, count) for count in steps)
    words = result["words"]
    fits = [words is not None and len(words) == count for count in steps]
    # Words of one length with both belong to the text, where a modality is called so.
    below = fits[1] and (not fits[0] or modality_of(job.victim) == "text")
    labels = [None, words] if below else [words if fits[0] else None, None]
    most = max((mass for maker in ("solver", "fitter") for *_, mass in result[maker]), default=1.0)

    def draw(figure: Figure, theme: Theme) -> None:
        panels = figure.subplots(2, 1, sharex=True)
        for axes, maker in zip(panels, ("solver", "fitter"), strict=True):
            _draw_lines(axes, result[maker], (top, bottom), most, theme)
            _draw_steps(axes, top, 1.0, labels[0], width, theme)
            _draw_steps(axes, bottom, 0.0, labels[1], width, theme)
            axes.set_ylim(-0.75 if labels[1] else -0.12, 1.75 if labels[0] else 1.12)
            axes.set_yticks([0, 1], [short(job.victim), short(job.visible)])
            axes.set_title(maker)
            axes.spines[["left", "bottom"]].set_visible(False)
            axes.tick_params(axis="y", length=0)
            axes.tick_params(axis="x", bottom=maker == "fitter", labelbottom=maker == "fitter")
        panels[-1].set_xlabel("seconds" if result["times"] else "step")

    title = f"{run.condition.pair}, {run.entry.system}: clip {result['clip']}"
    lines = max(len(result["solver"]), len(result["fitter"]))
    cut = f" Only the {MOST_LINES} heaviest of {lines} lines are shown." * (lines > MOST_LINES)
    return make_picture(
        name,
        draw,
        inches=(width, 5.4 if any(labels) else 4.4),
        caption=f"{title}.{cut}",
        alt=_described(title, result),
    )


def positions(result: Mapping[str, Any], steps: int) -> Positions:
    """Where the steps stand: at the middle of their words, or evenly over the clip.

    Times are those of words; a modality with another number of steps is spread over the same span.
    """
    times = result["times"]
    if not times:
        longest = max(int(result["visible_steps"]), int(result["victim_steps"]))
        return (np.arange(steps) + 0.5) * longest / steps
    spans = np.array(times, dtype=np.float64).reshape(-1, 2)
    if len(spans) == steps:
        middles: Positions = spans.mean(axis=1)
        return middles
    start, end = float(spans.min()), float(spans.max())
    return start + (np.arange(steps) + 0.5) * (end - start) / steps


def spaced(wanted: Positions, gap: float) -> Positions:
    """Places for labels: as near as may be to where they are wanted, at least a gap apart.

    >>> import numpy as np
    >>> spaced(np.array([0.0, 0.1, 3.0]), 1.0).tolist()
    [0.0, 1.0, 3.0]
    """
    places: list[float] = []
    for place in wanted.tolist():
        places.append(max(place, places[-1] + gap) if places else place)
    return np.array(places)


def _draw_lines(
    axes: Axes,
    lines: Sequence[Sequence[float]],
    rows: tuple[Positions, Positions],
    most: float,
    theme: Theme,
) -> None:
    """Lines whose strength is their share of the most mass that any has."""
    heaviest = sorted(lines, key=lambda line: -line[2])[:MOST_LINES]
    segments = [[(rows[0][int(i)], 0.95), (rows[1][int(j)], 0.05)] for i, j, _ in heaviest]
    colours = [to_rgba(theme.method, 0.02 + 0.93 * mass / most) for *_, mass in heaviest]
    axes.add_collection(LineCollection(segments, colors=colours, linewidths=1.2))


def _draw_steps(
    axes: Axes,
    places: Positions,
    height: float,
    words: Sequence[str] | None,
    width: float,
    theme: Theme,
) -> None:
    axes.plot(places, np.full(len(places), height), "o", color=theme.ink, markersize=2.5)
    away = 1 if height else -1
    if words is None:
        return
    gap = (places.max() - places.min()) / (width - 1.2) * 0.17
    for word, place, label in zip(words, places, spaced(places, gap), strict=True):
        edge = height + 0.16 * away
        axes.plot([place, label], [height + 0.03 * away, edge], color=theme.muted, linewidth=0.5)
        axes.text(
            label,
            edge + 0.02 * away,
            short(word),
            rotation=60,
            rotation_mode="anchor",
            fontsize=8,
            ha="left" if away > 0 else "right",
            va="center",
            color=theme.ink,
        )


def _described(title: str, result: Mapping[str, Any]) -> str:
    words = result["words"]
    said = f" Words: {' '.join(map(on_one_line, words))}." if words else ""
    return (
        f"{title}: {result['visible_steps']} visible steps joined by lines to "
        f"{result['victim_steps']} steps of the victim, once as solved and once as predicted.{said}"
    )
