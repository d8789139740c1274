"""Cross-modal attention in all directions."""

from collections.abc import Sequence
from types import ModuleType
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from mmalign.model.attention import last_norm, transformer_layers
from mmalign.model.compiled_layers import can_be_compiled, layer_kernels
from mmalign.model.compiled_layers import read as read_memory
from mmalign.model.config import BackboneConfig
from mmalign.model.hidden import Hidden, is_valid
from mmalign.model.positions import position_table, scaled_positions
from mmalign.model.readings import readings


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
        self.is_compiled = can_be_compiled(config)

    def forward(self, *hidden: Hidden) -> Float[Tensor, "batch all_dims"]:
        """The head embeddings of all modalities, side by side; for two [z12_0, z21_0]."""
        if self.is_compiled:
            steps = [sequence.steps for sequence in hidden]
            compiled = layer_kernels(max(one.shape[1] for one in steps), *steps)
            if compiled is not None:
                return self._compiled(compiled, hidden)
        placed = [sequence.with_head for sequence in hidden]
        if self.has_positions:
            clock = hidden[0]
            placed = [
                steps + _positions(clock, sequence)
                for sequence, steps in zip(hidden, placed, strict=True)
            ]
        found: list[list[Tensor]] = [[] for _ in hidden]
        for (reader, memory), read in zip(self.readings, self.readers, strict=True):
            found[reader].append(
                read(placed[reader], placed[memory], _valid_with_head(hidden[memory]))
            )
        return torch.cat([_mean(heads) for heads in found], dim=-1)

    def _compiled(
        self, compiled: ModuleType, hidden: Sequence[Hidden]
    ) -> Float[Tensor, "batch all_dims"]:
        """The same by compiled functions, one for each direction."""
        clock = hidden[0]
        found: list[list[Tensor]] = [[] for _ in hidden]
        for (reader, memory), read in zip(self.readings, self.readers, strict=True):
            source = hidden[memory]
            places = _positions(clock, source)
            places = places if self.has_positions else torch.zeros_like(places)
            layers = cast(CrossAttention, read).layers
            found[reader].append(read_memory(compiled, layers, hidden[reader].head, source, places))
        return torch.cat([_mean(heads) for heads in found], dim=-1)


def _mean(heads: list[Tensor]) -> Float[Tensor, "batch dim"]:
    return heads[0] if len(heads) == 1 else torch.stack(heads).mean(dim=0)


def _positions(clock: Hidden, hidden: Hidden) -> Tensor:
    """Positions on the first modality's clock, so that what happens together stands together."""
    steps = hidden.steps
    time, dim = steps.shape[1:]
    if torch.equal(clock.lengths, hidden.lengths):
        return position_table(time + 1, dim, steps.dtype, steps.device)
    return scaled_positions(time, hidden.lengths, clock.lengths, dim).to(steps.dtype)


def _valid_with_head(hidden: Hidden) -> Tensor:
    inside = is_valid(hidden.lengths, hidden.steps.shape[1])
    return functional.pad(inside, (1, 0), value=True)[:, None]
