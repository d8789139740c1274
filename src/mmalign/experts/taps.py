"""Taps: a small convolutional network of hidden steps, with a linear read-out of evidence.

A stem over five steps, then residual blocks that read their input at distant offsets, as taps on a
delay line; every layer keeps the steps, so that there is a hidden sequence to align or to fuse.
Steps beyond a clip's end are zero wherever they could be read: batch-mates change nothing.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mmalign.model.dropout import dropout

OFFSETS = (-8, -4, -2, -1, 0, 1, 2, 4, 8)
STEM = (-2, -1, 0, 1, 2)


class Shifted(torch.autograd.Function):
    """Each step beside the steps at some offsets; beyond the ends there are zeros.

    Its own backward adds up in place; that of slicing would fill one tensor of zeros an offset.
    """

    @staticmethod
    def forward(
        context: Any, steps: Float[Tensor, "batch time dim"], offsets: tuple[int, ...]
    ) -> Float[Tensor, "batch time wide"]:
        """The steps at each offset, side by side."""
        context.offsets = offsets
        time = steps.shape[1]
        reach = max(abs(offset) for offset in offsets)
        padded = functional.pad(steps, (0, 0, reach, reach))
        return torch.cat([padded[:, reach + o : reach + o + time] for o in offsets], dim=-1)

    @staticmethod
    def backward(
        context: Any, slopes: Float[Tensor, "batch time wide"]
    ) -> tuple[Float[Tensor, "batch time dim"], None]:
        """The slopes of each step, from wherever it was read."""
        batch, time, wide = slopes.shape
        dim = wide // len(context.offsets)
        reach = max(abs(offset) for offset in context.offsets)
        total = slopes.new_zeros(batch, time + 2 * reach, dim)
        for number, offset in enumerate(context.offsets):
            part = slopes[..., number * dim : (number + 1) * dim]
            total[:, reach + offset : reach + offset + time] += part
        return total[:, reach : reach + time], None


def shifted(
    steps: Float[Tensor, "batch time dim"], offsets: tuple[int, ...]
) -> Float[Tensor, "batch time wide"]:
    """Each step beside the steps at these offsets; beyond the ends there are zeros."""
    beside: Float[Tensor, "batch time wide"]
    beside = Shifted.apply(steps, offsets)  # type: ignore[no-untyped-call]
    return beside


class TapsBlock(nn.Module):
    """Reads distant steps beside the maximum of near ones, and adds what it finds.

    Args:
        dim: Size of a hidden step.
        rate: Share of what it finds that is dropped in training.
    """

    def __init__(self, dim: int, rate: float) -> None:
        super().__init__()
        narrow = dim // 4
        self.narrow = nn.Linear(dim, narrow)
        self.far = nn.Linear(narrow * len(OFFSETS), dim - narrow)
        self.near = nn.Linear(dim, narrow)
        self.norm = nn.LayerNorm(dim)
        self.rate = rate

    def forward(
        self, steps: Float[Tensor, "batch time dim"], inside: Bool[Tensor, "batch time 1"] | None
    ) -> Float[Tensor, "batch time dim"]:
        """The steps with what was found; zeros stay outside."""
        far = self.far(shifted(_kept(self.narrow(steps), inside), OFFSETS))
        highest = functional.max_pool1d(steps.transpose(1, 2), 3, stride=1, padding=1)
        near = self.near(highest.transpose(1, 2))
        found = self.norm(torch.cat((far, near), dim=-1))
        found = dropout(found, self.rate, is_training=self.training)
        return _kept(torch.relu(steps + found), inside)


class Taps(nn.Module):
    """From a sequence to evidence: one number an output, of any length.

    Args:
        channels: Features of a step.
        outputs: Numbers of evidence.
        step_gain: What brings differences between steps to the size of the steps, for signals;
            0 leaves differences out, as suits lists of words.
        dim: Size of a hidden step.
        blocks: How many blocks.
        rate: Dropout in the blocks.
        read_rate: Dropout before the read-out.
    """

    def __init__(
        self,
        channels: int,
        outputs: int,
        *,
        step_gain: float,
        dim: int = 64,
        blocks: int = 3,
        rate: float = 0.1,
        read_rate: float = 0.3,
    ) -> None:
        super().__init__()
        self.step_gain = step_gain
        width = channels * (2 if step_gain else 1)
        self.stem = nn.Linear(width * len(STEM), dim)
        self.norm = nn.LayerNorm(dim)
        self.blocks = nn.ModuleList(TapsBlock(dim, rate) for _ in range(blocks))
        self.read_rate = read_rate
        self.read = nn.Linear(2 * dim, outputs)

    def encode(
        self, features: Float[Tensor, "batch time channels"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time dim"]:
        """Hidden steps; zero from each clip's length on."""
        inside = _inside(lengths, features.shape[1])
        seen = _kept(self._with_differences(features), inside)
        steps = _kept(torch.relu(self.norm(self.stem(shifted(seen, STEM)))), inside)
        for block in self.blocks:
            steps = block(steps, inside)
        return steps

    def _with_differences(
        self, features: Float[Tensor, "batch time channels"]
    ) -> Float[Tensor, "batch time width"]:
        if not self.step_gain:
            return features
        differences = self.step_gain * torch.diff(features, dim=1, prepend=features[:, :1])
        return torch.cat((features, differences), dim=-1)

    def forward(
        self, features: Float[Tensor, "batch time channels"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch outputs"]:
        """Evidence read off the mean and the maximum of the hidden steps."""
        steps = self.encode(features, lengths)  # never negative, so zeros outside are no maximum
        mean = steps.sum(dim=1) / lengths[:, None]
        pooled = torch.cat((mean, steps.amax(dim=1)), dim=-1)
        evidence: Float[Tensor, "batch outputs"] = self.read(
            dropout(pooled, self.read_rate, is_training=self.training)
        )
        return evidence


def _inside(lengths: Int[Tensor, " batch"], time: int) -> Bool[Tensor, "batch time 1"] | None:
    """Which steps are a clip's own; None where all are."""
    if bool((lengths == time).all()):
        return None
    return (torch.arange(time, device=lengths.device) < lengths[:, None])[..., None]


def _kept(
    steps: Float[Tensor, "batch time dim"], inside: Bool[Tensor, "batch time 1"] | None
) -> Float[Tensor, "batch time dim"]:
    return steps if inside is None else steps * inside
