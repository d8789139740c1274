"""The network that does the main task: encode, fuse, predict."""

from collections.abc import Collection, Mapping
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from mmalign.model.config import BackboneConfig
from mmalign.model.encoder import Encoder
from mmalign.model.fusion import Fusion
from mmalign.model.hidden import Hidden


class Backbone(nn.Module):
    """After MulT: one encoder a modality, cross-attention in all directions, a two-layer head.

    Args:
        config: Size.
        dims: Feature dimension of each modality; the first one's steps are the clock of the others.
        outputs: 1 for regression, the number of classes otherwise.
    """

    def __init__(self, config: BackboneConfig, dims: Mapping[str, int], outputs: int) -> None:
        super().__init__()
        self.modalities = tuple(dims)
        self.outputs = outputs
        self.encoders = nn.ModuleList(Encoder(features, config) for features in dims.values())
        self.fuse = Fusion(config, len(dims))
        self.is_pooled = config.pool == "cls+mean+max"
        self.head = nn.Sequential(
            nn.Linear(len(dims) * config.dim * (3 if self.is_pooled else 1), config.dim),
            nn.Tanh(),
            nn.Linear(config.dim, outputs),
        )

    def encoder(self, modality: str) -> Encoder:
        """What encodes the modality."""
        return cast(Encoder, self.encoders[self.modalities.index(modality)])

    def learn_gaps(self, modalities: Collection[str]) -> None:
        """Give these modalities a vector for their gaps that training can change."""
        for name in modalities:
            self.encoder(name).learn_gap()

    def encode(
        self,
        modality: str,
        features: Float[Tensor, "batch time features"],
        lengths: Int[Tensor, " batch"],
        observed: Bool[Tensor, "batch time"] | None = None,
    ) -> Hidden:
        """Hidden sequences of one modality of clips that all have it."""
        return cast(Hidden, self.encoder(modality)(features, lengths, observed))

    def predict(self, hidden: Mapping[str, Hidden]) -> Float[Tensor, "batch outputs"]:
        """The answer from hidden sequences of all modalities, true or imputed (paper: Eq. 4)."""
        ordered = [hidden[name] for name in self.modalities]
        seen = self.fuse(*ordered)
        if self.is_pooled:
            seen = torch.cat((seen, *(sequence.pooled for sequence in ordered)), dim=-1)
        answer: Tensor = self.head(seen)
        return answer

    def imputed(
        self,
        modality: str,
        steps: Float[Tensor, "batch time dim"],
        lengths: Int[Tensor, " batch"],
    ) -> Hidden:
        """Steps that stand in for a modality, under its initial [CLS] embedding (design E12)."""
        head = self.encoder(modality).cls.expand(len(steps), -1)
        return Hidden(head, steps, lengths)


def count_parameters(module: nn.Module) -> int:
    """How many numbers training can change."""
    return sum(parameter.numel() for parameter in module.parameters() if parameter.requires_grad)
