"""Pattern features: how often small zero-sum kernels match a sequence (after MiniRocket).

Every kernel has nine taps: three of weight 2, six of weight -1. There are 84 of them. Spread out by
a dilation and applied to a sum of channels, a kernel answers at each step; a feature is the share
of the steps at which the answer exceeds a threshold taken from training clips.
(Dempster, Schmidt, Webb: MiniRocket, KDD 2021.)
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float32, Int32, Int64

from mmalign.align.kernels.kept import Kernel
from mmalign.data.clip import Steps
from mmalign.experts.layout import LANES, TAPS

fill_shares = Kernel("experts.kernels", "fill_shares")
fill_shares_together = Kernel("experts.kernels", "fill_shares_together")
fill_thresholds = Kernel("experts.kernels", "fill_thresholds")

KERNELS: Int32[np.ndarray, "kernels 3"] = np.array(
    list(itertools.combinations(range(TAPS), 3)), dtype=np.int32
)
MOST_DILATIONS = 32
GOLDEN = (5**0.5 + 1) / 2
SHORT = 2048
"""Longer clips are answered one by one: side by side they would take much memory."""


@dataclass(frozen=True)
class Patterns:
    """A bank of pattern features, fitted to training clips.

    Attributes:
        dilations: Steps between the taps, for each combination of kernel and dilation.
        kernels: Which kernel, for each combination.
        channels: Which channels are summed, for each combination.
        thresholds: What the answer is compared with; as many for every combination.
    """

    dilations: Int64[np.ndarray, " combinations"]
    kernels: Int64[np.ndarray, " combinations"]
    channels: Bool[np.ndarray, "combinations channels"]
    thresholds: Float32[np.ndarray, "combinations levels"]

    def transform(self, clips: Sequence[Steps]) -> Float32[np.ndarray, "clips features"]:
        """Shares of steps above each threshold, one row a clip of any length."""
        shares = np.empty((len(clips), self.features), np.float32)
        self.fill(clips, shares, 0)
        return shares

    @property
    def features(self) -> int:
        """How many there are."""
        return self.thresholds.size

    def fill(
        self, clips: Sequence[Steps], found: Float32[np.ndarray, "clips _"], start: int
    ) -> None:
        """Fill columns of ``found``, from ``start`` on, with what `transform` gives."""
        columns = slice(start, start + self.features)
        bank = self.dilations, self.kernels, self.channels, self.thresholds, KERNELS
        for rows in _groups([len(steps) for steps in clips], self._most):
            if len(rows) == 1:
                fill_shares(_transposed(clips[rows[0]]), *bank, found[rows[0], columns])
                continue
            shares = np.empty((LANES, self.features), np.float32)
            fill_shares_together(*_side_by_side([clips[row] for row in rows]), *bank, shares)
            found[rows, columns] = shares[: len(rows)]

    @cached_property
    def _most(self) -> int:
        """Steps of clips that go side by side, where each needs room for the widest dilation."""
        return SHORT if self.dilations.max() <= SHORT else 0


def fit_patterns(clips: Sequence[Steps], *, features: int, rng: np.random.Generator) -> Patterns:
    """Choose dilations by the clips' usual length, channels at random, thresholds by quantiles.

    Args:
        clips: Training sequences.
        features: About how many features.
        rng: Draws channels, and the clips that thresholds are taken from.
    """
    usual = int(np.median([len(steps) for steps in clips]))
    levels_in_all = max(1, features // len(KERNELS))
    dilations, levels = _dilations(usual, levels_in_all)
    count = len(KERNELS) * len(dilations)
    spread = np.repeat(dilations, len(KERNELS))
    kernels = np.tile(np.arange(len(KERNELS)), len(dilations))
    channels = _draw_channels(count, clips[0].shape[1], rng)
    # Every combination takes its thresholds from a clip of its own, at quantiles of their own.
    quantiles = (np.arange(1, count * levels + 1) * GOLDEN % 1).reshape(count, levels)
    thresholds = np.empty((count, levels), np.float32)
    givers = rng.integers(len(clips), size=count)
    for giver in np.unique(givers):
        chosen = np.flatnonzero(givers == giver)
        sequence = _transposed(clips[giver])
        fill_thresholds(sequence, chosen, spread, kernels, channels, KERNELS, quantiles, thresholds)
    return Patterns(spread, kernels, channels, thresholds)


def _groups(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Rows of like length that are answered together; a clip of more steps than `most` is alone."""
    short = [row for row in np.argsort(lengths, kind="stable").tolist() if lengths[row] <= most]
    for start in range(0, len(short), LANES):
        yield short[start : start + LANES]
    yield from ([row] for row, length in enumerate(lengths) if length > most)


def _side_by_side(clips: Sequence[Steps]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The clips in the last dimension, what is outside, and lengths; lanes left over are short."""
    lengths = np.ones(LANES, np.float32)
    lengths[: len(clips)] = [len(steps) for steps in clips]
    time = int(lengths.max())
    together = np.zeros((clips[0].shape[1], time, LANES), np.float32)
    for lane, steps in enumerate(clips):
        together[:, : len(steps), lane] = steps.T
    is_outside = np.arange(time)[:, None] >= lengths
    return together, np.where(is_outside, -np.inf, 0.0).astype(np.float32), lengths


def _transposed(steps: Steps) -> Float32[np.ndarray, "channels time"]:
    return np.ascontiguousarray(steps.T, np.float32)


def _dilations(length: int, levels: int) -> tuple[Int64[np.ndarray, " dilations"], int]:
    """Dilations up to where the taps span the clip, spread exponentially; levels for each."""
    most = max(0.0, np.log2(max(1.0, (length - 1) / (TAPS - 1))))
    count = min(levels, MOST_DILATIONS)
    found = np.unique(np.floor(2 ** np.linspace(0, most, count)).astype(np.int64))
    return found, max(1, levels // len(found))


def _draw_channels(
    count: int, channels: int, rng: np.random.Generator
) -> Bool[np.ndarray, "combinations channels"]:
    """Few channels for most combinations: their number is spread exponentially."""
    most = np.log2(min(channels, TAPS) + 1)
    sizes = np.floor(2 ** rng.uniform(0, most, count)).astype(int)
    order = rng.random((count, channels)).argsort(axis=1)
    return np.asarray(order < sizes[:, None])
