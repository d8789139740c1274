"""A hidden sequence: the [CLS] embedding apart from the steps that can be aligned."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Hidden:
    """What an encoder or an imputer says about one modality of some clips.

    Attributes:
        head: The hidden [CLS], never part of an alignment (design E12).
        steps: One vector a step; zeros from each clip's length on.
        lengths: Steps of each clip, at least 1.
    """

    head: Float[Tensor, "batch dim"]
    steps: Float[Tensor, "batch time dim"]
    lengths: Int[Tensor, " batch"]

    def detach(self) -> "Hidden":
        """The same values, cut off from the gradient."""
        return Hidden(self.head.detach(), self.steps.detach(), self.lengths)

    @property
    def with_head(self) -> Float[Tensor, "batch time_and_one dim"]:
        """[CLS] and steps as one sequence."""
        return torch.cat((self.head[:, None], self.steps), dim=1)


def is_valid(lengths: Int[Tensor, " batch"], time: int) -> Bool[Tensor, "batch time"]:
    """Which positions lie inside their sequence."""
    return torch.arange(time, device=lengths.device) < lengths[:, None]


def same_moment(
    target_lengths: Int[Tensor, " batch"], source_lengths: Int[Tensor, " batch"], time: int
) -> Int[Tensor, "batch time"]:
    """The source step at the moment of each target step."""
    steps = torch.arange(time, device=target_lengths.device)
    rate = (source_lengths.double() / target_lengths.double())[:, None]
    moment = ((steps + 0.5) * rate - 0.5).round().long()
    return moment.clamp(min=0).minimum(source_lengths[:, None] - 1)


def step_error(steps: Float[Tensor, "batch time dim"], target: Hidden) -> Float[Tensor, ""]:
    """Mean squared distance to the target's steps, padding left out."""
    inside = is_valid(target.lengths, target.steps.shape[1])
    return (steps - target.steps)[inside].square().mean()
