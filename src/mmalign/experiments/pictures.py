"""Pictures of clips and of what is missing."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.task import Classification
from mmalign.errors import ConfigError
from mmalign.experts.explanation import Explanation

MISSING = "#e9e4da"
BAR = "#9db8d3"
MOST_LINES = 6
"""More features than these are not told apart."""


def check_picture(file: Path) -> None:
    """Check that the file's ending names a kind of picture.

    Raises:
        ConfigError: If it does not.
    """
    known = FigureCanvasAgg.get_supported_filetypes()
    if file.suffix.removeprefix(".").lower() not in known:
        raise ConfigError(f"{file}: not the name of a picture. End it in .png, .svg or .pdf.")


def draw_clips(
    dataset: Dataset,
    file: Path,
    *,
    split: str = "train",
    count: int = 4,
    unit: str = "",
    step: str = "step",
) -> None:
    """Draw a few clips of each pattern of what is there; a missing sequence is an empty panel.

    Args:
        dataset: Whose clips.
        file: Where to; the ending says what kind of picture.
        split: Which split.
        count: How many clips, about; at least one a pattern.
        unit: What the values are in.
        step: What a step is.
    """
    clips = dataset[split]
    rows = _spread(clips, count)
    with mpl.rc_context({"font.size": 9, "axes.titlesize": 9, "legend.fontsize": 9}):
        figure = Figure(
            figsize=(3.2 * len(rows), 2 * len(dataset.dims) + 0.9), layout="constrained"
        )
        axes = figure.subplots(
            len(dataset.dims), len(rows), squeeze=False, sharex="col", sharey="row"
        )
        for column, row in enumerate(rows):
            clip = clips[row]
            title = f"{clip.id}\n{_label_name(dataset, clip.label)}"
            axes[0][column].set_title(title, parse_math=False)
            for line, name in enumerate(dataset.dims):
                _draw_sequence(axes[line][column], clip.sequences[name])
            axes[-1][column].set_xlabel(step)
        for line, name in enumerate(dataset.dims):
            axes[line][0].set_ylabel(f"{name}\n{unit}".strip(), parse_math=False)
        _draw_legend(figure, max(dataset.dims.values()))
        figure.savefig(file, dpi=120)


def _spread(split: Split, count: int) -> list[int]:
    """Rows spread over the clips of each pattern of what is there."""
    has = np.stack([split.is_present(name) for name in split.modalities], axis=1)
    groups = [np.flatnonzero((has == pattern).all(axis=1)) for pattern in np.unique(has, axis=0)]
    share = max(1, count // max(1, len(groups)))
    chosen = set()
    for number, rows in enumerate(groups, 1):
        # Not the same places in each group: neighbours are alike.
        places = (np.arange(share) + number / (len(groups) + 1)) / share
        chosen |= set(rows[(places * len(rows)).astype(int)].tolist())
    return sorted(chosen)


def _draw_sequence(axes: Axes, steps: np.ndarray | None) -> None:
    if steps is None:
        axes.set_facecolor(MISSING)
        axes.text(0.5, 0.5, "missing", ha="center", va="center", transform=axes.transAxes)
        return
    for feature, values in enumerate(steps.T[:MOST_LINES]):
        axes.plot(values, linewidth=1, color=f"C{feature}")
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))


def _draw_legend(figure: Figure, features: int) -> None:
    """Name the lines; where there are more features, only the first ones are drawn."""
    shown = min(features, MOST_LINES)
    lines = [Line2D([], [], color=f"C{feature}") for feature in range(shown)]
    titles = [f"feature {feature}" for feature in range(shown)]
    note = f"the first {shown} of up to {features} features" if shown < features else None
    figure.legend(lines, titles, loc="outside lower center", ncols=shown, title=note)


def _label_name(dataset: Dataset, label: float | int | str | None) -> str:
    if label is None:
        return ""
    if isinstance(dataset.task, Classification):
        return dataset.task.classes[int(label)]
    return f"label {float(label):.2f}"


def draw_plans(
    plans: Mapping[str, Float[np.ndarray, "_ _"]],
    clip: Clip,
    file: Path,
    *,
    title: str,
    visible: str,
    victim: str,
) -> None:
    """Draw plans as heat maps, side by side on one colour scale.

    Words stand on each axis that has a step a word, numbers of steps on the others.
    """
    figure = Figure(figsize=(5.2 * len(plans) + 0.8, 5), layout="constrained")
    axes = figure.subplots(1, len(plans), squeeze=False)[0]
    brightest = max(float(plan.max()) for plan in plans.values())
    for panel, (name, plan) in zip(axes, plans.items(), strict=True):
        image = panel.imshow(plan, aspect="auto", cmap="magma", vmin=0, vmax=brightest)
        panel.set_title(name)
        panel.set_ylabel(f"{visible} step", parse_math=False)
        panel.set_xlabel(f"{victim} step", parse_math=False)
        _mark_steps(panel.yaxis, plan.shape[0], clip.words)
        _mark_steps(panel.xaxis, plan.shape[1], clip.words, rotation=90)
    figure.colorbar(image, ax=list(axes), label="mass")
    figure.suptitle(title, parse_math=False)
    figure.savefig(file, dpi=130)


def draw_evidence(explanation: Explanation, title: str, file: Path) -> None:
    """Draw the evidence of each modality for the prediction, and the prediction without each."""
    answer = explanation.answer
    terms = {" + ".join(share.modalities): share.evidence for share in explanation.shares}
    figure = Figure(figsize=(9, 0.5 * len(terms) + 1.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_bars(left, terms)
    for row, moved in enumerate(terms.values()):
        left.text(0, row, f" {signed(moved)}", va="center", fontsize=8)
    adds = "added to the mean label" if answer.share is None else f"evidence for {answer.label}"
    left.set_title(adds, fontsize=9, parse_math=False)
    left.axvline(0, color="black", linewidth=0.8)
    asked = {"all available": answer}
    asked |= {f"without {name}": said for name, said in explanation.without.items()}
    _draw_bars(right, {case: one.value for case, one in asked.items()})
    for row, one in enumerate(asked.values()):
        right.text(0, row, f" {one}", va="center", fontsize=8, parse_math=False)
    what = "prediction" if answer.share is None else f"probability of {answer.label}"
    right.set_title(what, fontsize=9, parse_math=False)
    figure.suptitle(title, parse_math=False)
    figure.savefig(file, dpi=130)


def signed(value: float) -> str:
    """The number with its sign; what rounds to zero has none."""
    return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"


def _draw_bars(axes: Axes, bars: Mapping[str, float]) -> None:
    axes.barh(range(len(bars)), list(bars.values()), color=BAR)
    axes.set_yticks(range(len(bars)), list(bars), fontsize=8, parse_math=False)
    axes.invert_yaxis()
    axes.tick_params(labelsize=7)


def _mark_steps(
    axis: Axis, steps: int, words: Sequence[str] | None, *, rotation: float = 0
) -> None:
    if words is not None and len(words) == steps:
        # Words are text: a dollar sign opens no formula.
        axis.set_ticks(range(steps), words, fontsize=7, rotation=rotation, parse_math=False)
    else:
        axis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
