"""The network of experts in plain torch: for studies that need its slopes, and as an oracle."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from mmalign.experts.taps import OFFSETS, STEM, Taps


class TorchTaps(nn.Module):
    """The same network, on padded batches; its weights have the same names."""

    def __init__(
        self,
        channels: int,
        outputs: int,
        *,
        step_gain: float,
        stride: int = 1,
        dim: int = 64,
        blocks: int = 3,
    ) -> None:
        super().__init__()
        self.step_gain = step_gain
        self.stride = stride
        narrow = dim // 4
        self.stem = nn.Linear(channels * (2 if step_gain else 1) * len(STEM), dim)
        self.norm = nn.LayerNorm(dim)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "narrow": nn.Linear(dim, narrow),
                    "far": nn.Linear(narrow * len(OFFSETS), dim - narrow),
                    "near": nn.Linear(dim, narrow),
                    "norm": nn.LayerNorm(dim),
                }
            )
            for _ in range(blocks)
        )
        self.read = nn.Linear(2 * dim, outputs)

    @classmethod
    def like(cls, network: Taps) -> "TorchTaps":
        """The network with the weights of a trained one."""
        dim, wide = network.weights["stem.weight"].shape
        channels = wide // len(STEM) // (2 if network.step_gain else 1)
        form = {"step_gain": network.step_gain, "stride": network.stride}
        found = cls(channels, network.outputs, dim=dim, blocks=network.blocks, **form)
        found.load_state_dict({n: torch.from_numpy(w.copy()) for n, w in network.weights.items()})
        return found

    def encode(self, features: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden steps, zero from each clip's end on, and how many there are."""
        if self.step_gain:
            change = self.step_gain * torch.diff(features, dim=1, prepend=features[:, :1])
            features = torch.cat((features, change), dim=-1)
        found = self.norm(self.stem(shifted(features, lengths, STEM.tolist())))
        steps, lengths = thinned(kept(found.relu(), lengths), lengths, self.stride)
        for block in self.blocks:
            far = block["far"](shifted(block["narrow"](steps), lengths, OFFSETS.tolist()))
            near = functional.max_pool1d(steps.transpose(1, 2), 3, stride=1, padding=1)
            found = block["norm"](torch.cat((far, block["near"](near.transpose(1, 2))), dim=-1))
            found = functional.dropout(found, 0.1, training=self.training)
            steps = kept((steps + found).relu(), lengths)
        return steps, lengths

    def forward(self, features: Tensor, lengths: Tensor) -> Tensor:
        """Evidence read off the mean and the maximum of the hidden steps."""
        return self.read(pooled(*self.encode(features, lengths)))


def pooled(steps: Tensor, lengths: Tensor) -> Tensor:
    """Mean and maximum of each clip's steps, which are never negative."""
    return torch.cat((steps.sum(dim=1) / lengths[:, None], steps.amax(dim=1)), dim=-1)


def thinned(steps: Tensor, lengths: Tensor, stride: int) -> tuple[Tensor, Tensor]:
    """The maximum of every `stride` steps in a row, and how many each clip has."""
    spare = functional.pad(steps, (0, 0, 0, -steps.shape[1] % stride))
    return spare.unflatten(1, (-1, stride)).amax(dim=2), -(-lengths // stride)


def shifted(steps: Tensor, lengths: Tensor, offsets: list[int]) -> Tensor:
    """Each step beside the steps at these offsets; beyond a clip's ends there are zeros."""
    time, reach = steps.shape[1], max(abs(offset) for offset in offsets)
    padded_steps = functional.pad(kept(steps, lengths), (0, 0, reach, reach))
    parts = [padded_steps[:, reach + o : reach + o + time] for o in offsets]
    return kept(torch.cat(parts, dim=-1), lengths)


def kept(steps: Tensor, lengths: Tensor) -> Tensor:
    """The steps, zeros from each clip's length on."""
    is_outside = torch.arange(steps.shape[1]) >= lengths[:, None]
    return steps.masked_fill(is_outside[..., None], 0.0)


def padded(clips: list[Tensor]) -> tuple[Tensor, Tensor]:
    """The clips as one tensor, zeros from each one's length on."""
    lengths = torch.tensor([len(steps) for steps in clips])
    return nn.utils.rnn.pad_sequence(list(clips), batch_first=True), lengths
