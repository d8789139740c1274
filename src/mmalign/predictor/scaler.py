"""Feature scales, learned on the training clips that have the modality."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from mmalign.data.clip import Steps, StepsColumn
from mmalign.data.moments import moments
from mmalign.data.split import Split
from mmalign.predictor.scaling import AS_PRINTED, Scaling


class Scaler(nn.Module):
    """Mean and scale of each feature, learned on the training clips that have the modality."""

    mean: Tensor
    scale: Tensor
    step_gain: Tensor

    def __init__(self, features: int, scaling: Scaling = AS_PRINTED) -> None:
        super().__init__()
        self.scaling = scaling
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))
        if scaling.differences:
            # What brings differences between steps to the size of the steps.
            self.register_buffer("step_gain", torch.ones(()))

    def fit(self, split: Split, modality: str) -> None:
        """Learn from the sequences that are there; constant features keep scale 1.

        A feature is constant if its spread is lost in the rounding of its mean, in whatever unit.
        """
        column = split.sequences[modality]
        found = moments(column)
        if found is None:
            return
        mean, variance = torch.from_numpy(found.mean), torch.from_numpy(found.variance)
        if self.scaling.centre:
            variance = _mean_square(self._shifted(column))
        scale = variance.sqrt() if self.scaling.own_scale else variance.mean().sqrt()
        float32 = torch.finfo(torch.float32)
        # Below `tiny`, a scale has too few bits left to divide by.
        rounding = (mean.abs() * float32.eps).clamp(min=float32.tiny)
        self.mean.copy_(mean)
        self.scale.copy_(torch.where(scale > rounding, scale, 1.0))
        if self.scaling.differences:
            self._fit_gain(column)

    def _fit_gain(self, column: StepsColumn) -> None:
        size = _mean_square(self._shifted(column)) / self.scale**2
        changes = (np.diff(steps, axis=0) for steps in self._shifted(column))
        change = _mean_square(changes) / self.scale**2
        if change.mean() > 0:
            self.step_gain.fill_(float((size.mean() / change.mean()).sqrt()))

    def _shifted(self, column: StepsColumn) -> Iterator[Steps]:
        """The sequences that are there, less their own means or the modality's; gaps stay."""
        for steps in column:
            if steps is None:
                continue
            if self.scaling.centre:
                yield (steps - np.nanmean(steps, axis=0, dtype=np.float64)).astype(np.float32)
            else:
                yield steps - self.mean.numpy()

    def forward(
        self,
        features: Float[Tensor, "*clips time features"],
        is_known: Bool[Tensor, "*clips time"] | None = None,
    ) -> Float[Tensor, "*clips time width"]:
        """Features with mean 0 and scale 1 on the training split, and differences where wanted.

        Args:
            features: Steps of clips.
            is_known: Steps that are inside their clip and in no gap; without it, all of them.
        """
        if self.scaling == AS_PRINTED:
            return (features - self.mean) / self.scale
        if is_known is None:
            is_known = torch.ones(features.shape[:-1], dtype=torch.bool, device=features.device)
        shifted = (features - self.mean).masked_fill(~is_known[..., None], 0.0)
        if self.scaling.centre:
            count = is_known.sum(dim=-1).clamp(min=1)[..., None, None]
            shifted = shifted - shifted.sum(dim=-2, keepdim=True) / count
        scaled = shifted / self.scale
        return self._with_differences(scaled, is_known) if self.scaling.differences else scaled

    def _with_differences(
        self, scaled: Float[Tensor, "*clips time features"], is_known: Bool[Tensor, "*clips time"]
    ) -> Float[Tensor, "*clips time width"]:
        """Features and their differences; those over a gap, or at the first step, are 0."""
        is_change = functional.pad(is_known[..., 1:] & is_known[..., :-1], (1, 0), value=False)
        change = self.step_gain * torch.diff(scaled, dim=-2, prepend=scaled[..., :1, :])
        return torch.cat((scaled, change.masked_fill(~is_change[..., None], 0.0)), dim=-1)


def _mean_square(clips: Iterator[Steps]) -> Float[Tensor, " features"]:
    found = moments(clips)
    if found is None:
        return torch.zeros(1, dtype=torch.float64)
    return torch.from_numpy(found.variance + found.mean**2)
