"""Window features: what random detectors of one to three steps see, on average and at most."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from mmalign.align.kernels.kept import Kernel
from mmalign.data.clip import Steps

add_answers = Kernel("experts.kernels", "add_answers")

WIDTHS = (1, 2, 3)
BLOCK = 512
"""Windows that are answered at once: answers stay in the processor's cache."""


@dataclass(frozen=True)
class Windows:
    """Random detectors: a rectified linear answer to so many steps in a row.

    Attributes:
        weights: One matrix `[width * channels, detectors]` a width.
        biases: One row a width.
    """

    weights: tuple[Float32[np.ndarray, "_ detectors"], ...]
    biases: Float32[np.ndarray, "widths detectors"]

    def transform(self, clips: Sequence[Steps]) -> Float32[np.ndarray, "clips features"]:
        """Mean and maximum of every detector over the steps, one row a clip of any length."""
        found = []
        for width, weights, bias in zip(WIDTHS, self.weights, self.biases, strict=True):
            lengths, together = _at_least(clips, width)
            totals = np.zeros((len(clips), len(bias)), np.float32)
            highest = np.zeros_like(totals)
            owners = _owners(lengths, width)
            for start in range(0, len(owners), BLOCK):
                rows = _windows(together[start : start + BLOCK + width - 1], width)
                add_answers(rows @ weights, owners[start:], bias, totals, highest)
            counts = (lengths - width + 1).astype(np.float32)
            found += [totals / counts[:, None], highest]
        return np.concatenate(found, axis=1)


def _at_least(
    clips: Sequence[Steps], width: int
) -> tuple[Int64[np.ndarray, " clips"], Float32[np.ndarray, "time channels"]]:
    """Lengths, and steps one after the other; a clip of fewer is padded with its last one."""
    lengths = np.array([len(steps) for steps in clips])
    together = np.concatenate(clips, dtype=np.float32)
    missing = np.maximum(width - lengths, 0)
    if missing.any():
        times = np.ones(len(together), np.int64)
        times[np.cumsum(lengths) - 1] += missing
        together = np.repeat(together, times, axis=0)
    return lengths + missing, together


def _owners(lengths: Int64[np.ndarray, " clips"], width: int) -> Int64[np.ndarray, " windows"]:
    """The clip of each window over clips one after the other; -1 where it lies in two."""
    owners = np.repeat(np.arange(len(lengths)), lengths)
    owners[np.cumsum(lengths)[:, None] - np.arange(1, width)] = -1
    return owners[: len(owners) - width + 1]


def _windows(steps: Steps, width: int) -> Float32[np.ndarray, "windows inputs"]:
    """Every `width` steps in a row, side by side."""
    count = len(steps) - width + 1
    return np.concatenate([steps[shift : shift + count] for shift in range(width)], axis=1)


def draw_windows(channels: int, *, detectors: int, rng: np.random.Generator) -> Windows:
    """Draw the detectors for sequences of unit scale."""
    weights = tuple(
        (rng.normal(size=(width * channels, detectors)) / np.sqrt(width * channels)).astype(
            np.float32
        )
        for width in WIDTHS
    )
    biases = rng.normal(scale=0.5, size=(len(WIDTHS), detectors)).astype(np.float32)
    return Windows(weights, biases)
