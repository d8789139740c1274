"""Cross-modal attention in both directions."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from mmalign.model.attention import transformer_layers
from mmalign.model.config import BackboneConfig
from mmalign.model.hidden import Hidden, is_valid
from mmalign.model.positions import position_table, scaled_positions


class CrossAttention(nn.Module):
    """One direction: what one modality's [CLS] becomes after reading the other modality."""

    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.layers = transformer_layers(config, config.fusion_layers)

    def forward(
        self,
        reader: Float[Tensor, "batch time dim"],
        memory: Float[Tensor, "batch memory dim"],
        memory_is_valid: Tensor,
    ) -> Float[Tensor, "batch dim"]:
        """The reader's position 0 after all layers.

        Positions of the reader do not attend to each other here, so the last position 0 needs no
        other position of the reader: only it is computed, which is exact.
        """
        head = reader[:, :1]
        for layer in self.layers:
            head = layer(head, memory, memory_is_valid)
        return head[:, 0]


class Fusion(nn.Module):
    """Both directions of cross-attention (paper: Eq. 1 to 3 with m1 != m2).

    Positions are added to both sequences first (design E16): attention without them is a set
    operation, and no alignment could matter.
    """

    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.visible_reads_victim = CrossAttention(config)
        self.victim_reads_visible = CrossAttention(config)
        self.has_positions = config.fusion_positions

    def forward(self, visible: Hidden, victim: Hidden) -> Float[Tensor, "batch two_dim"]:
        """The two head embeddings [z12_0, z21_0], side by side."""
        first, second = visible.with_head, victim.with_head
        if self.has_positions:
            first = first + _table(first)
            second = second + _victim_positions(visible, victim, second)
        return torch.cat(
            (
                self.visible_reads_victim(first, second, _valid_with_head(victim)),
                self.victim_reads_visible(second, first, _valid_with_head(visible)),
            ),
            dim=-1,
        )


def _table(sequence: Float[Tensor, "batch time dim"]) -> Float[Tensor, "time dim"]:
    return position_table(sequence.shape[1], sequence.shape[2], sequence.dtype, sequence.device)


def _victim_positions(
    visible: Hidden, victim: Hidden, sequence: Float[Tensor, "batch time dim"]
) -> Tensor:
    """Positions on the visible modality's clock, so that what happens together stands together."""
    if torch.equal(visible.lengths, victim.lengths):
        return _table(sequence)
    time, dim = victim.steps.shape[1:]
    return scaled_positions(time, victim.lengths, visible.lengths, dim).to(sequence.dtype)


def _valid_with_head(hidden: Hidden) -> Tensor:
    inside = is_valid(hidden.lengths, hidden.steps.shape[1])
    return functional.pad(inside, (1, 0), value=True)[:, None]
