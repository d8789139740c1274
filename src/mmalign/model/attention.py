"""Attention: plain matrix products where sequences are short, fused where they are long."""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from mmalign.model.band import band_attention
from mmalign.model.config import BackboneConfig
from mmalign.model.dropout import dropout

Remembered = tuple[Float[Tensor, "_ _ _"], Float[Tensor, "_ _ _"]]
"""Keys and values `[batch * heads, memory, part]`."""

FUSED_CELLS = 512 * 512
"""From so many scores a head on, they are never written down: memory grows with length alone."""


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
        found = self._find(self._split(self.query(queries)), *remembered, is_valid)
        batch, count, dim = queries.shape
        found = found.view(batch, self.heads, count, -1).transpose(1, 2).reshape(batch, count, dim)
        answer: Tensor = self.out(found)
        return answer

    def _find(
        self,
        query: Float[Tensor, "batch_heads queries part"],
        key: Float[Tensor, "batch_heads memory part"],
        value: Float[Tensor, "batch_heads memory part"],
        is_valid: Bool[Tensor, "batch one_or_queries memory"],
    ) -> Float[Tensor, "batch_heads queries part"]:
        if query.shape[1] * key.shape[1] >= FUSED_CELLS:
            query, key, value = (
                part.view(-1, self.heads, *part.shape[1:]) for part in (query, key, value)
            )
            found = functional.scaled_dot_product_attention(
                query, key, value, attn_mask=is_valid[:, None]
            )
            return found.flatten(0, 1)
        closed = torch.zeros_like(is_valid, dtype=query.dtype).masked_fill_(~is_valid, -torch.inf)
        scale = 1 / math.sqrt(query.shape[-1])
        scores = torch.baddbmm(
            closed.repeat_interleave(self.heads, dim=0), query, key.mT, alpha=scale
        )
        return scores.softmax(dim=-1) @ value

    def _split(
        self, sequence: Float[Tensor, "batch time dim"]
    ) -> Float[Tensor, "batch_heads time part"]:
        batch, time, _ = sequence.shape
        heads = sequence.view(batch, time, self.heads, -1).transpose(1, 2)
        return heads.reshape(batch * self.heads, time, -1)


class BandAttention(Attention):
    """Attention of a sequence over itself in which a step reads its neighbours alone.

    [CLS], at position 0, still reads every step, and every step reads it.

    Args:
        dim: Width of the vectors.
        heads: Attention heads.
        band: Steps before and after it that a step reads.
    """

    def __init__(self, dim: int, heads: int, *, band: int) -> None:
        super().__init__(dim, heads)
        self.band = band

    def _find(
        self,
        query: Float[Tensor, "batch_heads time part"],
        key: Float[Tensor, "batch_heads time part"],
        value: Float[Tensor, "batch_heads time part"],
        is_valid: Bool[Tensor, "batch 1 time"],
    ) -> Float[Tensor, "batch_heads time part"]:
        head = super()._find(query[:, :1], key, value, is_valid)
        is_step = is_valid[:, 0, 1:].repeat_interleave(self.heads, dim=0)
        steps = band_attention(query[:, 1:], key, value, is_step, band=self.band)
        return torch.cat((head, steps), dim=1)


MakeAttention = Callable[[int, int], Attention]
"""Attention of this width with so many heads."""


class TransformerLayer(nn.Module):
    """One layer that reads a sequence with another (or itself) as memory.

    Paper: Eq. 1 to 3 (eq:1, eq:3): Z' = MATT(Q, K, V) + x; Z = FFN(Z') + LN(Z').
    """

    def __init__(
        self, dim: int, heads: int, dropout: float, make_attention: MakeAttention = Attention
    ) -> None:
        super().__init__()
        self.attention = make_attention(dim, heads)
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

    def __init__(
        self, dim: int, heads: int, dropout: float, make_attention: MakeAttention = Attention
    ) -> None:
        super().__init__(dim, heads, dropout, make_attention)
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


def self_attention_layers(config: BackboneConfig) -> nn.ModuleList:
    """The layers of an encoder, which read a sequence with itself as memory."""
    band = config.attention_band
    make = partial(BandAttention, band=band) if band else Attention
    return transformer_layers(config, config.encoder_layers, make)


def transformer_layers(
    config: BackboneConfig, count: int, make_attention: MakeAttention = Attention
) -> nn.ModuleList:
    """Layers that are drawn one by one, so that no two start with the same weights."""
    layer = PreNormLayer if config.norm == "pre" else TransformerLayer
    return nn.ModuleList(
        layer(config.dim, config.heads, config.dropout, make_attention) for _ in range(count)
    )


def last_norm(config: BackboneConfig) -> nn.Module:
    """What normalises the sum that pre-norm layers leave; printed layers leave none."""
    return nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()
