"""Window features: what random detectors of one to three steps see, on average and at most."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from mmalign.data.clip import Steps
from mmalign.experts.kernels import add_answers

WIDTHS = (1, 2, 3)
BLOCK = 8192
"""Windows that are answered at once: memory does not grow with a clip's length."""


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
        return np.stack([self._of(np.asarray(steps, np.float32)) for steps in clips])

    def _of(self, steps: Steps) -> Float32[np.ndarray, " features"]:
        found = []
        for width, weights, bias in zip(WIDTHS, self.weights, self.biases, strict=True):
            rows = _windows(steps, width)
            total, highest = np.zeros_like(bias), np.zeros_like(bias)
            for start in range(0, len(rows), BLOCK):
                add_answers(rows[start : start + BLOCK] @ weights, bias, total, highest)
            found += [total / len(rows), highest]
        return np.concatenate(found)


def _windows(steps: Steps, width: int) -> Float32[np.ndarray, "windows inputs"]:
    """Every `width` steps in a row, side by side; a shorter clip is padded with its last step."""
    if len(steps) < width:
        steps = np.concatenate([steps, np.repeat(steps[-1:], width - len(steps), axis=0)])
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
