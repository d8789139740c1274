"""Pictures of clips and of what is missing."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.task import Classification
from mmalign.errors import ConfigError
from mmalign.experts.explanation import Explanation

MISSING = "#e9e4da"
BAR = "#9db8d3"
PRESENCE = ListedColormap([MISSING, "#3b6ea5"])


def check_picture(file: Path) -> None:
    """Check that the file's ending names a kind of picture.

    Raises:
        ConfigError: If it does not.
    """
    known = FigureCanvasAgg.get_supported_filetypes()
    if file.suffix.removeprefix(".").lower() not in known:
        raise ConfigError(f"{file}: the ending must be one of {', '.join(sorted(known))}")


def draw_clips(dataset: Dataset, file: Path, *, split: str = "train", count: int = 4) -> None:
    """Draw a few clips, complete and incomplete ones; a missing sequence is an empty panel."""
    clips = dataset[split]
    rows = _spread(clips, count)
    figure = Figure(figsize=(3.2 * len(rows), 1.9 * len(dataset.dims) + 0.6), layout="constrained")
    axes = figure.subplots(len(dataset.dims), len(rows), squeeze=False, sharex="col")
    for column, row in enumerate(rows):
        clip = clips[row]
        for line, name in enumerate(dataset.dims):
            _draw_sequence(axes[line][column], clip.sequences[name])
            axes[line][0].set_ylabel(name, parse_math=False)
        axes[0][column].set_title(
            f"{clip.id}\n{_label_name(dataset, clip.label)}", fontsize=8, parse_math=False
        )
        axes[-1][column].set_xlabel("step")
    figure.savefig(file, dpi=120)


def _spread(split: Split, count: int) -> list[int]:
    """Rows spread over the complete clips, then over the incomplete ones."""
    is_complete = np.all([split.is_present(name) for name in split.modalities], axis=0)
    groups = [
        rows for rows in (np.flatnonzero(is_complete), np.flatnonzero(~is_complete)) if len(rows)
    ]
    share = count // len(groups)
    chosen = [rows[np.linspace(0, len(rows) - 1, share).astype(int)] for rows in groups]
    return sorted({int(row) for rows in chosen for row in rows})


def _draw_sequence(axes: Axes, steps: np.ndarray | None) -> None:
    if steps is None:
        axes.set_facecolor(MISSING)
        axes.text(0.5, 0.5, "missing", ha="center", va="center", transform=axes.transAxes)
        axes.set_yticks([])
        return
    axes.plot(steps[:, :6], linewidth=1)
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    axes.tick_params(labelsize=7)


def _label_name(dataset: Dataset, label: float | int | str | None) -> str:
    if label is None:
        return ""
    if isinstance(dataset.task, Classification):
        return dataset.task.classes[int(label)]
    return f"label {float(label):.2f}"


def draw_missingness(versions: Sequence[tuple[str, Dataset]], file: Path) -> None:
    """Draw, for each version of a dataset, which clips have which modality."""
    names = list(versions[0][1].splits)
    figure = Figure(figsize=(9, 0.9 * len(versions) * 1.6 + 0.6), layout="constrained")
    axes = figure.subplots(
        len(versions),
        len(names),
        squeeze=False,
        width_ratios=[len(versions[0][1][n]) for n in names],
    )
    for line, (title, dataset) in enumerate(versions):
        for column, name in enumerate(names):
            _draw_presence(axes[line][column], dataset[name])
            axes[line][column].set_title(
                f"{title}: {name}", fontsize=8, loc="left", parse_math=False
            )
            if column:
                axes[line][column].set_yticks([])
    axes[-1][0].set_xlabel("clip")
    figure.savefig(file, dpi=120)


def _draw_presence(axes: Axes, split: Split) -> None:
    presence = np.stack([split.is_present(name) for name in split.modalities])
    axes.imshow(presence, aspect="auto", interpolation="nearest", cmap=PRESENCE, vmin=0, vmax=1)
    axes.set_yticks(range(len(presence)), split.modalities, fontsize=8, parse_math=False)
    axes.tick_params(labelsize=7)


def draw_plans(
    plans: Mapping[str, Float[np.ndarray, "_ _"]],
    clip: Clip,
    file: Path,
    *,
    visible: str,
    victim: str,
) -> None:
    """Draw plans as heat maps, side by side on one colour scale.

    Words stand on each axis that has a step a word, numbers of steps on the others.
    """
    figure = Figure(figsize=(5.2 * len(plans) + 0.8, 5), layout="constrained")
    axes = figure.subplots(1, len(plans), squeeze=False)[0]
    brightest = max(float(plan.max()) for plan in plans.values())
    for panel, (title, plan) in zip(axes, plans.items(), strict=True):
        image = panel.imshow(plan, aspect="auto", cmap="magma", vmin=0, vmax=brightest)
        panel.set_title(title)
        panel.set_ylabel(f"{visible} step", parse_math=False)
        panel.set_xlabel(f"{victim} step", parse_math=False)
        _mark_steps(panel.yaxis, plan.shape[0], clip.words)
        _mark_steps(panel.xaxis, plan.shape[1], clip.words, rotation=90)
    figure.colorbar(image, ax=list(axes), label="mass")
    figure.suptitle(clip.id, parse_math=False)
    figure.savefig(file, dpi=130)


def draw_evidence(explanation: Explanation, title: str, file: Path) -> None:
    """Draw how much each modality speaks for the answer, and the answer without each."""
    answer = explanation.answer
    terms = {" + ".join(share.modalities): share.evidence for share in explanation.shares}
    figure = Figure(figsize=(9, 0.5 * len(terms) + 1.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_bars(left, terms)
    left.set_title(f"evidence for {answer.label}", fontsize=9, parse_math=False)
    left.axvline(0, color="black", linewidth=0.8)
    asked = {"all that is there": answer}
    asked |= {f"without {name}": said for name, said in explanation.without.items()}
    _draw_bars(right, {case: one.value for case, one in asked.items()})
    for row, one in enumerate(asked.values()):
        right.text(0, row, f" {one}", va="center", fontsize=8, parse_math=False)
    right.set_title(f"what is said of {answer.label}", fontsize=9, parse_math=False)
    figure.suptitle(title, parse_math=False)
    figure.savefig(file, dpi=130)


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
