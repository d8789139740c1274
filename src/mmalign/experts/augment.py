"""Small changes to clips that leave their labels alone."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float32

from mmalign.experts.taps import Packed


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
        count, lengths = len(clips), clips.lengths
        pace = 1 + self.pace * rng.uniform(-1, 1, count)
        start = self.shift * rng.uniform(-1, 1, count) * (lengths > 2 * self.shift)
        gain = 1 + self.gain * rng.normal(size=count)
        owner = np.repeat(np.arange(count), lengths)
        first, last = clips.bounds[:-1][owner], (lengths - 1)[owner]
        steps = np.arange(len(clips.rows)) - first
        places = np.clip((steps - last / 2) * pace[owner] + last / 2 + start[owner], 0, last)
        below = places.astype(np.int64)
        part = (places - below)[:, None].astype(np.float32)
        rows, after = clips.rows[first + below], clips.rows[first + np.minimum(below + 1, last)]
        rows += part * (after - rows)
        rows *= gain[owner, None].astype(np.float32)
        noise: Float32[np.ndarray, "rows channels"] = rng.standard_normal(rows.shape, np.float32)
        rows += np.float32(self.jitter) * noise
        return replace(clips, rows=rows)
