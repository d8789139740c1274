"""Input sense: how a modality's sequences are centred and scaled before anything reads them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from mmalign.data.clip import Steps
from mmalign.data.packed import Packed, packed

SMOOTH = 0.3
"""Neighbouring steps that correlate by more than this are a signal, not a list of words."""


@dataclass(frozen=True, kw_only=True)
class Sense:
    """What is done to a modality's sequences.

    Attributes:
        centre: Whether each clip loses its own mean: where somebody stood, how a wrist was tilted.
        own_scale: Whether each channel has its own scale; else the modality has one for all.
        smooth: Whether neighbouring steps are alike, so that differences and small shifts in time
            mean something.
        motion: Whether the ridge looks for windows in the differences between steps, too.
        windows: Whether the ridge looks for windows in the steps themselves.
    """

    centre: bool
    own_scale: bool
    smooth: bool
    motion: bool = False
    windows: bool = True


@dataclass(frozen=True)
class Inputs:
    """A sense with the statistics of the training clips.

    Attributes:
        centre: Whether each clip loses its own mean.
        mean: Mean of each channel; zero where clips lose their own.
        scale: Scale of each channel.
    """

    centre: bool
    mean: Float32[np.ndarray, " channels"]
    scale: Float32[np.ndarray, " channels"]

    def __call__(self, clips: Sequence[Steps]) -> Packed:
        """The sequences, centred and scaled."""
        given = packed(clips)
        means = np.repeat(_own_means(given), given.lengths, axis=0) if self.centre else self.mean
        with np.errstate(over="ignore", invalid="ignore"):  # who learns or answers looks for it
            rows = np.subtract(given.rows, means, dtype=np.float32)
            rows /= self.scale
        return given.with_rows(rows)


def fit_inputs(clips: Sequence[Steps], *, centre: bool, own_scale: bool) -> Inputs:
    """Learn mean and scale from training clips; a constant channel gets the scale of the others."""
    given = packed(clips)
    steps = given.rows
    if centre:
        mean = np.zeros(steps.shape[1], np.float32)
        shifted = steps - np.repeat(_own_means(given), given.lengths, axis=0)
    else:
        mean = steps.mean(axis=0, dtype=np.float64).astype(np.float32)
        shifted = steps - mean
    spread = np.sqrt(np.mean(shifted.astype(np.float64) ** 2, axis=0))
    common = float(np.sqrt(np.mean(spread**2))) or 1.0
    own = np.where(spread > 1e-6 * common, spread, common)
    scale = own if own_scale else np.full_like(spread, common)
    return Inputs(centre, mean, scale.astype(np.float32))


def _own_means(clips: Packed) -> Float32[np.ndarray, "clips channels"]:
    """Mean of each clip.

    Summed in float64: rounded to float32, it is the same in whatever order steps are added.
    """
    totals = np.add.reduceat(clips.rows, clips.bounds[:-1], axis=0, dtype=np.float64)
    return np.asarray(totals / clips.lengths[:, None], np.float32)


def coarse(steps: Steps, together: int) -> Steps:
    """Means of so many steps in a row; those of the last may be fewer.

    >>> coarse(np.array([[1.0], [3.0], [5.0]], np.float32), 2).tolist()
    [[2.0], [5.0]]
    """
    if together == 1:
        return steps
    starts = np.arange(0, len(steps), together)
    counts = np.minimum(len(steps) - starts, together)
    totals = np.add.reduceat(steps, starts, axis=0, dtype=np.float64)
    return np.asarray(totals / counts[:, None], np.float32)


def step_gain(clips: Sequence[Steps]) -> float:
    """What brings differences between steps to the size of the steps."""
    given = packed(clips)
    steps, changes = given.rows, np.delete(given.changes(), given.bounds[:-1], axis=0)
    size = float(np.sqrt(np.mean(changes.astype(np.float64) ** 2))) if len(changes) else 0.0
    return float(np.sqrt(np.mean(steps.astype(np.float64) ** 2))) / size if size else 1.0


def is_smooth(clips: Sequence[Steps]) -> bool:
    """Whether neighbouring steps are alike, on average over channels."""
    inputs = fit_inputs(clips, centre=True, own_scale=True)(clips)
    products = [float((s[1:] * s[:-1]).sum()) for s in inputs if len(s) > 1]
    squares = [float((s[1:] ** 2).sum() + (s[:-1] ** 2).sum()) / 2 for s in inputs if len(s) > 1]
    return sum(products) > SMOOTH * sum(squares)
