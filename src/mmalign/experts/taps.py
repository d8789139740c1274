"""Taps: a small convolutional network of hidden steps, with a linear read-out of evidence.

A stem over five steps, then residual blocks that read their input at distant offsets, as taps on a
delay line; every layer keeps the steps, so that there is a hidden sequence to align or to fuse.
Steps beyond a clip's end are zero wherever they could be read: batch-mates change nothing.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mmalign.experts.taps_layers import finished, highest, pooled, shifted
from mmalign.experts.taps_offsets import OFFSETS, STEM
from mmalign.model.dropout import dropout


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
        self, steps: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time dim"]:
        """The steps with what was found; zeros stay outside."""
        far = self.far(shifted(self.narrow(steps), lengths, OFFSETS))
        near = self.near(highest(steps, lengths))
        rate = self.rate if self.training else 0.0
        return finished(far, near, steps, lengths, norm=self.norm, rate=rate)


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
        seen = shifted(self._with_differences(features), lengths, STEM)
        found = self.stem(seen)
        nothing = torch.zeros_like(found)
        steps = finished(found, found[..., :0], nothing, lengths, norm=self.norm, rate=0.0)
        for block in self.blocks:
            steps = block(steps, lengths)
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
        found = pooled(self.encode(features, lengths), lengths)
        evidence: Float[Tensor, "batch outputs"] = self.read(
            dropout(found, self.read_rate, is_training=self.training)
        )
        return evidence
