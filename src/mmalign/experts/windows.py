"""Window features: what random detectors of one to three steps see, on average and at most."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float32

from mmalign.align.kernels.kept import Kernel
from mmalign.data.clip import Steps
from mmalign.data.packed import Packed, Rows, packed
from mmalign.experts.layout import LANES

fill_windows = Kernel("experts.window_kernels", "fill_windows")

WIDTHS = (1, 2, 3)
SPARE = 8
"""Steps of zeros after the last clip, which whole tiles of windows may touch."""


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
        found = np.empty((len(clips), self.features), np.float32)
        self.fill(clips, found, 0)
        return found

    @property
    def features(self) -> int:
        """How many there are."""
        return 2 * self.biases.size

    def fill(
        self, clips: Sequence[Steps], found: Float32[np.ndarray, "clips _"], start: int
    ) -> None:
        """Fill columns of ``found``, from ``start`` on, with what `transform` gives."""
        detectors = self.biases.shape[1]
        given = packed(clips)
        shortest, together = int(given.lengths.min(initial=WIDTHS[-1])), _with_room(given)
        for width, panels in zip(WIDTHS, self._panels, strict=True):
            if width > shortest:
                given = packed([_at_least(steps, width) for steps in clips])
                together = _with_room(given)
            fill_windows(together, given.bounds, width, *panels, start, detectors, found)
            start += 2 * detectors

    @cached_property
    def _panels(self) -> list[tuple[Float32[np.ndarray, " _"], Float32[np.ndarray, " _"]]]:
        """Weights and biases of each width as the kernel reads them."""
        return [_in_panels(*pair) for pair in zip(self.weights, self.biases, strict=True)]


def _in_panels(
    weights: Float32[np.ndarray, "inputs detectors"], bias: Float32[np.ndarray, " detectors"]
) -> tuple[Float32[np.ndarray, " _"], Float32[np.ndarray, " _"]]:
    """Vectors of detectors one after the other, filled up with zeros; and their biases."""
    missing = -len(bias) % LANES
    panels = np.pad(weights, ((0, 0), (0, missing))).reshape(len(weights), -1, LANES)
    return panels.swapaxes(0, 1).astype(np.float32).reshape(-1), np.pad(bias, (0, missing))


def _with_room(clips: Packed) -> Rows:
    """All steps, and zeros that whole tiles may touch."""
    nothing = np.zeros((SPARE, clips.rows.shape[1]), np.float32)
    return np.concatenate((clips.rows, nothing), dtype=np.float32)


def _at_least(steps: Steps, width: int) -> Steps:
    """The clip; one of fewer steps is padded with its last one."""
    return np.pad(steps, ((0, max(0, width - len(steps))), (0, 0)), mode="edge")


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
