"""Small changes to a clip that leave its label alone."""

from dataclasses import dataclass

import numpy as np

from mmalign.data.clip import Steps


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

    def __call__(self, steps: Steps, rng: np.random.Generator) -> Steps:
        """The clip, changed; its length stays."""
        length = len(steps)
        pace = 1 + rng.uniform(-self.pace, self.pace)
        start = rng.uniform(-self.shift, self.shift) if length > 2 * self.shift else 0.0
        middle = (length - 1) / 2
        places = np.clip((np.arange(length) - middle) * pace + middle + start, 0, length - 1)
        below = np.minimum(places.astype(int), max(length - 2, 0))
        part = (places - below)[:, None].astype(np.float32)
        moved = steps[below] * (1 - part) + steps[np.minimum(below + 1, length - 1)] * part
        noise = rng.normal(scale=self.jitter, size=steps.shape)
        changed: Steps = (moved * (1 + rng.normal(scale=self.gain)) + noise).astype(np.float32)
        return changed
