"""Cross-modal attention in all directions."""

import itertools

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from mmalign.model.attention import last_norm, transformer_layers
from mmalign.model.config import BackboneConfig
from mmalign.model.hidden import Hidden, is_valid
from mmalign.model.positions import position_table, scaled_positions


class CrossAttention(nn.Module):
    """One direction: what one modality's [CLS] becomes after reading the other modality."""

    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.layers = transformer_layers(config, config.fusion_layers)
        self.norm = last_norm(config)

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
        answer: Tensor = self.norm(head[:, 0])
        return answer


class Fusion(nn.Module):
    """Cross-attention in all directions (paper: Eq. 1 to 3 with m1 != m2).

    Each modality reads each other one, and takes the mean of what it read; a modality that is
    alone reads itself. Positions are added to all sequences first (design E16): attention without
    them is a set operation, and no alignment could matter.
    """

    def __init__(self, config: BackboneConfig, modalities: int) -> None:
        super().__init__()
        self.readings = readings(modalities)
        self.readers = nn.ModuleList(CrossAttention(config) for _ in self.readings)
        self.has_positions = config.fusion_positions

    def forward(self, *hidden: Hidden) -> Float[Tensor, "batch all_dims"]:
        """The head embeddings of all modalities, side by side; for two [z12_0, z21_0]."""
        placed = [sequence.with_head for sequence in hidden]
        if self.has_positions:
            clock = hidden[0]
            placed = [
                steps + _positions(clock, sequence, steps)
                for sequence, steps in zip(hidden, placed, strict=True)
            ]
        found: list[list[Tensor]] = [[] for _ in hidden]
        for (reader, memory), read in zip(self.readings, self.readers, strict=True):
            found[reader].append(
                read(placed[reader], placed[memory], _valid_with_head(hidden[memory]))
            )
        return torch.cat([_mean(heads) for heads in found], dim=-1)


def readings(modalities: int) -> tuple[tuple[int, int], ...]:
    """Who reads whom, reader by reader.

    >>> readings(1), readings(2)
    (((0, 0),), ((0, 1), (1, 0)))
    """
    if modalities == 1:
        return ((0, 0),)
    return tuple(itertools.permutations(range(modalities), 2))


def _mean(heads: list[Tensor]) -> Float[Tensor, "batch dim"]:
    return heads[0] if len(heads) == 1 else torch.stack(heads).mean(dim=0)


def _table(sequence: Float[Tensor, "batch time dim"]) -> Float[Tensor, "time dim"]:
    return position_table(sequence.shape[1], sequence.shape[2], sequence.dtype, sequence.device)


def _positions(clock: Hidden, hidden: Hidden, sequence: Float[Tensor, "batch time dim"]) -> Tensor:
    """Positions on the first modality's clock, so that what happens together stands together."""
    if torch.equal(clock.lengths, hidden.lengths):
        return _table(sequence)
    time, dim = hidden.steps.shape[1:]
    return scaled_positions(time, hidden.lengths, clock.lengths, dim).to(sequence.dtype)


def _valid_with_head(hidden: Hidden) -> Tensor:
    inside = is_valid(hidden.lengths, hidden.steps.shape[1])
    return functional.pad(inside, (1, 0), value=True)[:, None]
