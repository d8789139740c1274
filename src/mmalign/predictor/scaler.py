"""Feature scales, learned on the training clips that have the modality."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mmalign.data.moments import moments
from mmalign.data.split import Split


class Scaler(nn.Module):
    """Mean and scale of each feature, learned on the training clips that have the modality."""

    mean: Tensor
    scale: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))

    def fit(self, split: Split, modality: str) -> None:
        """Learn from the sequences that are there; constant features keep scale 1.

        A feature is constant if its spread is lost in the rounding of its mean, in whatever unit.
        """
        found = moments(split.sequences[modality])
        if found is None:
            return
        mean, scale = torch.from_numpy(found.mean), torch.from_numpy(found.variance).sqrt()
        float32 = torch.finfo(torch.float32)
        # Below `tiny`, a scale has too few bits left to divide by.
        rounding = (mean.abs() * float32.eps).clamp(min=float32.tiny)
        self.mean.copy_(mean)
        self.scale.copy_(torch.where(scale > rounding, scale, 1.0))

    def forward(
        self, features: Float[Tensor, "*batch features"]
    ) -> Float[Tensor, "*batch features"]:
        """Features with mean 0 and scale 1 on the training split."""
        return (features - self.mean) / self.scale
