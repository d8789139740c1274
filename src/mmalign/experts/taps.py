"""A small convolutional encoder of hidden steps, with a linear read-out of evidence.

A stem over five steps, then residual blocks that read their input at distant offsets, as taps on a
delay line; every layer keeps the steps, so that there is a hidden sequence to align or to fuse.
Steps beyond a clip's end are zero wherever they could be read: batch-mates change nothing.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

OFFSETS = (-8, -4, -2, -1, 0, 1, 2, 4, 8)
STEM = (-2, -1, 0, 1, 2)


def shifted(
    steps: Float[Tensor, "batch time dim"], offsets: tuple[int, ...]
) -> Float[Tensor, "batch time wide"]:
    """Each step beside the steps at these offsets; beyond the ends there are zeros."""
    time = steps.shape[1]
    reach = max(abs(offset) for offset in offsets)
    padded = functional.pad(steps, (0, 0, reach, reach))
    return torch.cat([padded[:, reach + o : reach + o + time] for o in offsets], dim=-1)


class TapsBlock(nn.Module):
    """Reads distant steps beside the maximum of near ones, and adds what it finds.

    Args:
        dim: Size of a hidden step.
        dropout: Share of what it finds that is dropped in training.
    """

    def __init__(self, dim: int, dropout: float) -> None:
        super().__init__()
        narrow = dim // 4
        self.narrow = nn.Linear(dim, narrow)
        self.far = nn.Linear(narrow * len(OFFSETS), dim - narrow)
        self.near = nn.Linear(dim, narrow)
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, steps: Float[Tensor, "batch time dim"], inside: Bool[Tensor, "batch time 1"]
    ) -> Float[Tensor, "batch time dim"]:
        """The steps with what was found; zeros stay outside."""
        far = self.far(shifted(self.narrow(steps) * inside, OFFSETS))
        highest = functional.max_pool1d(steps.transpose(1, 2), 3, stride=1, padding=1)
        near = self.near(highest.transpose(1, 2))
        found = self.norm(torch.cat((far, near), dim=-1))
        return torch.relu(steps + self.dropout(found)) * inside


class Taps(nn.Module):
    """From a sequence to evidence: one number an output, of any length.

    Args:
        channels: Features of a step.
        outputs: Numbers of evidence.
        dim: Size of a hidden step.
        blocks: How many blocks.
        dropout: In the blocks.
        read_dropout: Before the read-out.
    """

    def __init__(
        self,
        channels: int,
        outputs: int,
        *,
        dim: int = 64,
        blocks: int = 3,
        dropout: float = 0.1,
        read_dropout: float = 0.3,
    ) -> None:
        super().__init__()
        self.stem = nn.Linear(channels * len(STEM), dim)
        self.norm = nn.LayerNorm(dim)
        self.blocks = nn.ModuleList(TapsBlock(dim, dropout) for _ in range(blocks))
        self.read_dropout = nn.Dropout(read_dropout)
        self.read = nn.Linear(2 * dim, outputs)

    def encode(
        self, features: Float[Tensor, "batch time channels"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time dim"]:
        """Hidden steps; zero from each clip's length on."""
        inside = _inside(lengths, features.shape[1])
        steps = torch.relu(self.norm(self.stem(shifted(features * inside, STEM)))) * inside
        for block in self.blocks:
            steps = block(steps, inside)
        return steps

    def forward(
        self, features: Float[Tensor, "batch time channels"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch outputs"]:
        """Evidence read off the mean and the maximum of the hidden steps."""
        steps = self.encode(features, lengths)  # never negative, so zeros outside are no maximum
        mean = steps.sum(dim=1) / lengths[:, None]
        pooled = self.read_dropout(torch.cat((mean, steps.amax(dim=1)), dim=-1))
        evidence: Float[Tensor, "batch outputs"] = self.read(pooled)
        return evidence


def _inside(lengths: Int[Tensor, " batch"], time: int) -> Bool[Tensor, "batch time 1"]:
    return (torch.arange(time, device=lengths.device) < lengths[:, None])[..., None]
