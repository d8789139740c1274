"""Small changes to clips that leave their labels alone."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


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

    def __call__(
        self, features: Float[Tensor, "batch time channels"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time channels"]:
        """The clips, changed; their lengths stay."""
        batch, time, channels = features.shape
        last = (lengths[:, None] - 1).to(features.dtype)
        pace = 1 + self.pace * _uniform(batch)
        start = self.shift * _uniform(batch) * (lengths[:, None] > 2 * self.shift)
        steps = torch.arange(time, dtype=features.dtype)
        places = (steps - last / 2) * pace + last / 2 + start
        places = torch.minimum(places.clamp(min=0), last)
        below = places.floor().clamp(max=max(time - 2, 0))
        part = (places - below)[..., None]
        moved = _at(features, below) * (1 - part) + _at(features, below + 1) * part
        gain = 1 + self.gain * torch.randn(batch, 1, 1)
        return moved * gain + self.jitter * torch.randn(batch, time, channels)


def _uniform(batch: int) -> Float[Tensor, "batch 1"]:
    """One number in (-1, 1) a clip."""
    return 2 * torch.rand(batch, 1) - 1


def _at(
    features: Float[Tensor, "batch time channels"], places: Float[Tensor, "batch time"]
) -> Float[Tensor, "batch time channels"]:
    rows = torch.arange(len(features))[:, None]
    return features[rows, places.long().clamp(max=features.shape[1] - 1)]
