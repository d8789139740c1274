"""A hidden sequence: the [CLS] embedding apart from the steps that can be aligned."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional


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

    def rows(self, chosen: Bool[Tensor, " batch"]) -> "Hidden":
        """The chosen clips, padded no further than they need."""
        lengths = self.lengths[chosen]
        longest = int(lengths.max()) if len(lengths) else 0
        return Hidden(self.head[chosen], self.steps[chosen][:, :longest], lengths)

    @property
    def with_head(self) -> Float[Tensor, "batch time_and_one dim"]:
        """[CLS] and steps as one sequence."""
        return torch.cat((self.head[:, None], self.steps), dim=1)

    @property
    def pooled(self) -> Float[Tensor, "batch two_dims"]:
        """Mean and maximum of each clip's steps, side by side."""
        outside = ~is_valid(self.lengths, self.steps.shape[1])[..., None]
        mean = self.steps.masked_fill(outside, 0.0).sum(dim=1) / self.lengths[:, None]
        largest = self.steps.masked_fill(outside, -torch.inf).amax(dim=1)
        return torch.cat((mean, largest), dim=-1)


@dataclass(frozen=True)
class Known:
    """A modality's hidden sequences of those clips of a batch that have it.

    Attributes:
        hidden: One sequence for each clip that has the modality.
        is_there: Which clips of the batch these are.
    """

    hidden: Hidden
    is_there: Bool[Tensor, " batch"]

    def of(self, chosen: Bool[Tensor, " batch"]) -> Hidden:
        """The sequences of chosen clips, all of which must have the modality."""
        if torch.equal(chosen, self.is_there):
            return self.hidden
        return self.hidden.rows(chosen[self.is_there])

    def detach(self) -> "Known":
        """The same values, cut off from the gradient."""
        return Known(self.hidden.detach(), self.is_there)

    def filled(self, stand_in: Hidden) -> Hidden:
        """One sequence for every clip: its own, or the stand-in's where it has none."""
        parts = (self.is_there, self.hidden), (~self.is_there, stand_in)
        time = max(hidden.steps.shape[1] for _, hidden in parts)
        dim = stand_in.head.shape[1]
        head = stand_in.head.new_zeros(len(self.is_there), dim)
        steps = stand_in.steps.new_zeros(len(self.is_there), time, dim)
        lengths = torch.zeros_like(self.is_there, dtype=stand_in.lengths.dtype)
        for is_mine, hidden in parts:
            rows = is_mine.nonzero()[:, 0]
            longer = functional.pad(hidden.steps, (0, 0, 0, time - hidden.steps.shape[1]))
            head = head.index_copy(0, rows, hidden.head)
            steps = steps.index_copy(0, rows, longer)
            lengths = lengths.index_copy(0, rows, hidden.lengths)
        return Hidden(head, steps, lengths)


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
