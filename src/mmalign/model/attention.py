"""Attention as plain matrix products with an explicit mask: one path, one result."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from mmalign.model.config import BackboneConfig
from mmalign.model.dropout import dropout

Remembered = tuple[Float[Tensor, "_ _ _"], Float[Tensor, "_ _ _"]]
"""Keys and values `[batch * heads, memory, part]`."""


class Attention(nn.Module):
    """Multi-head attention of queries over another sequence (paper: MATT in Eq. 1 and 2)."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(
        self,
        queries: Float[Tensor, "batch queries dim"],
        memory: Float[Tensor, "batch memory dim"],
        is_valid: Bool[Tensor, "batch one_or_queries memory"],
    ) -> Float[Tensor, "batch queries dim"]:
        """What each query finds in the positions of the memory that are valid for it."""
        return self.attend(queries, self.remember(memory), is_valid)

    def remember(self, memory: Float[Tensor, "batch memory dim"]) -> Remembered:
        """Keys and values of a memory; they can be kept and lengthened."""
        key, value = self.key_value(memory).chunk(2, dim=-1)
        return self._split(key), self._split(value)

    def attend(
        self,
        queries: Float[Tensor, "batch queries dim"],
        remembered: Remembered,
        is_valid: Bool[Tensor, "batch one_or_queries memory"],
    ) -> Float[Tensor, "batch queries dim"]:
        """What each query finds among remembered keys and values."""
        key, value = remembered
        query = self._split(self.query(queries))
        closed = torch.zeros_like(is_valid, dtype=query.dtype).masked_fill_(~is_valid, -torch.inf)
        scale = 1 / math.sqrt(query.shape[-1])
        scores = torch.baddbmm(
            closed.repeat_interleave(self.heads, dim=0), query, key.mT, alpha=scale
        )
        found = scores.softmax(dim=-1) @ value  # (batch * heads, queries, part)
        batch, count, dim = queries.shape
        found = found.view(batch, self.heads, count, -1).transpose(1, 2).reshape(batch, count, dim)
        answer: Tensor = self.out(found)
        return answer

    def _split(
        self, sequence: Float[Tensor, "batch time dim"]
    ) -> Float[Tensor, "batch_heads time part"]:
        batch, time, _ = sequence.shape
        heads = sequence.view(batch, time, self.heads, -1).transpose(1, 2)
        return heads.reshape(batch * self.heads, time, -1)


class TransformerLayer(nn.Module):
    """One layer that reads a sequence with another (or itself) as memory.

    Paper: Eq. 1 to 3 (eq:1, eq:3): Z' = MATT(Q, K, V) + x; Z = FFN(Z') + LN(Z').
    """

    def __init__(self, dim: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(dim, heads)
        self.norm = nn.LayerNorm(dim)
        self.widen = nn.Linear(dim, 4 * dim)
        self.narrow = nn.Linear(4 * dim, dim)
        self.dropout = dropout

    def forward(
        self,
        sequence: Float[Tensor, "batch time dim"],
        memory: Float[Tensor, "batch memory dim"],
        is_valid: Bool[Tensor, "batch one_or_time memory"],
    ) -> Float[Tensor, "batch time dim"]:
        """The sequence after one round of attention and feed-forward."""
        return self.read(sequence, self.attention.remember(memory), is_valid)

    def read(
        self,
        sequence: Float[Tensor, "batch time dim"],
        remembered: Remembered,
        is_valid: Bool[Tensor, "batch one_or_time memory"],
    ) -> Float[Tensor, "batch time dim"]:
        """The same with a memory that is remembered already."""
        attended = self._drop(self.attention.attend(sequence, remembered, is_valid)) + sequence
        wide = functional.relu(self.widen(attended))
        answer: Tensor = self._drop(self.narrow(self._drop(wide))) + self.norm(attended)
        return answer

    def _drop(self, values: Tensor) -> Tensor:
        return dropout(values, self.dropout, is_training=self.training)


class PreNormLayer(TransformerLayer):
    """The same layer with what each sublayer reads normalised first, sequence and memory alike.

    After MulT, not as printed: Z' = MATT(LN(x), LN(memory)) + x; Z = FFN(LN(Z')) + Z'.
    """

    def __init__(self, dim: int, heads: int, dropout: float) -> None:
        super().__init__(dim, heads, dropout)
        self.norm_wide = nn.LayerNorm(dim)

    def forward(
        self,
        sequence: Float[Tensor, "batch time dim"],
        memory: Float[Tensor, "batch memory dim"],
        is_valid: Bool[Tensor, "batch one_or_time memory"],
    ) -> Float[Tensor, "batch time dim"]:
        """The sequence after one round of attention and feed-forward."""
        return self.read(sequence, self.attention.remember(self.norm(memory)), is_valid)

    def read(
        self,
        sequence: Float[Tensor, "batch time dim"],
        remembered: Remembered,
        is_valid: Bool[Tensor, "batch one_or_time memory"],
    ) -> Float[Tensor, "batch time dim"]:
        """The same with a normalised memory that is remembered already."""
        found = self.attention.attend(self.norm(sequence), remembered, is_valid)
        attended = self._drop(found) + sequence
        wide = functional.relu(self.widen(self.norm_wide(attended)))
        return self._drop(self.narrow(self._drop(wide))) + attended


def transformer_layers(config: BackboneConfig, count: int) -> nn.ModuleList:
    """Layers that are drawn one by one, so that no two start with the same weights."""
    layer = PreNormLayer if config.norm == "pre" else TransformerLayer
    return nn.ModuleList(layer(config.dim, config.heads, config.dropout) for _ in range(count))


def last_norm(config: BackboneConfig) -> nn.Module:
    """What normalises the sum that pre-norm layers leave; printed layers leave none."""
    return nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()
