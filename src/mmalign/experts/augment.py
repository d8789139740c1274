"""Small changes to clips that leave their labels alone."""

from dataclasses import dataclass

import numpy as np

from mmalign.data.packed import Packed
from mmalign.experts.batch_kernels import add_changed


@dataclass(frozen=True, kw_only=True)
class Augment:
    """What sensors do anyway: noise, another gain, a late start, another pace.

    Attributes:
        jitter: Standard deviation of noise on each value.
        gain: Standard deviation of a factor on the whole clip.
        shift: Most steps that a clip starts earlier or later.
        pace: Largest change of speed.
    """

    jitter: float = 0.05
    gain: float = 0.2
    shift: int = 3
    pace: float = 0.2

    def __call__(self, clips: Packed, rng: np.random.Generator) -> Packed:
        """The clips, changed; their lengths stay."""
        count = len(clips)
        pace = 1 + self.pace * rng.uniform(-1, 1, count)
        start = self.shift * rng.uniform(-1, 1, count) * (clips.lengths > 2 * self.shift)
        gain = (1 + self.gain * rng.normal(size=count)).astype(np.float32)
        rows = rng.standard_normal(clips.rows.shape, np.float32)
        rows *= np.float32(self.jitter)
        add_changed(clips.rows, clips.bounds, pace, start, gain, rows)
        return clips.with_rows(rows)
