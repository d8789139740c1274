"""Input sense: how a modality's sequences are centred and scaled before anything reads them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from mmalign.data.clip import Steps

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

    def __call__(self, clips: Sequence[Steps]) -> list[Steps]:
        """The sequences, centred and scaled."""
        if not clips:
            return []
        lengths, steps = _together(clips)
        means = np.repeat(_own_means(steps, lengths), lengths, axis=0) if self.centre else self.mean
        scaled = ((steps - means) / self.scale).astype(np.float32)
        ends = np.cumsum(lengths).tolist()
        return [scaled[end - len(one) : end] for one, end in zip(clips, ends, strict=True)]


def fit_inputs(clips: Sequence[Steps], *, centre: bool, own_scale: bool) -> Inputs:
    """Learn mean and scale from training clips; a constant channel gets the scale of the others."""
    lengths, steps = _together(clips)
    if centre:
        mean = np.zeros(steps.shape[1], np.float32)
        shifted = steps - np.repeat(_own_means(steps, lengths), lengths, axis=0)
    else:
        mean = steps.mean(axis=0).astype(np.float32)
        shifted = steps - mean
    spread = np.sqrt(np.mean(shifted.astype(np.float64) ** 2, axis=0))
    common = float(np.sqrt(np.mean(spread**2))) or 1.0
    own = np.where(spread > 1e-6 * common, spread, common)
    scale = own if own_scale else np.full_like(spread, common)
    return Inputs(centre, mean, scale.astype(np.float32))


def _together(clips: Sequence[Steps]) -> tuple[Int64[np.ndarray, " clips"], Steps]:
    """Lengths of the clips, and all their steps one after the other."""
    return np.array([len(steps) for steps in clips]), np.concatenate(clips)


def _own_means(
    steps: Steps, lengths: Int64[np.ndarray, " clips"]
) -> Float32[np.ndarray, "clips channels"]:
    """Mean of each clip.

    Summed in float64: rounded to float32, it is the same in whatever order steps are added.
    """
    totals = np.add.reduceat(steps, np.cumsum(lengths) - lengths, axis=0, dtype=np.float64)
    return np.asarray(totals / lengths[:, None], np.float32)


def differences(steps: Steps) -> Steps:
    """What each step adds to the one before; nothing for the first."""
    return np.diff(steps, axis=0, prepend=steps[:1])


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
    lengths, steps = _together(clips)
    changes = np.delete(np.diff(steps, axis=0), np.cumsum(lengths)[:-1] - 1, axis=0)
    size = float(np.sqrt(np.mean(changes.astype(np.float64) ** 2))) if len(changes) else 0.0
    return float(np.sqrt(np.mean(steps.astype(np.float64) ** 2))) / size if size else 1.0


def is_smooth(clips: Sequence[Steps]) -> bool:
    """Whether neighbouring steps are alike, on average over channels."""
    inputs = fit_inputs(clips, centre=True, own_scale=True)(clips)
    products = [float((s[1:] * s[:-1]).sum()) for s in inputs if len(s) > 1]
    squares = [float((s[1:] ** 2).sum() + (s[:-1] ** 2).sum()) / 2 for s in inputs if len(s) > 1]
    return sum(products) > SMOOTH * sum(squares)
