"""Attention within a band of steps: time and memory grow with length, not with its square."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

SHORTEST_BLOCK = 32
CLOSED = -1e9
"""What is added to a score that must not count: its share is exactly 0 beside [CLS]'s."""


def band_attention(
    query: Float[Tensor, "rows time part"],
    key: Float[Tensor, "rows time_and_one part"],
    value: Float[Tensor, "rows time_and_one part"],
    is_valid: Bool[Tensor, "rows time"],
    *,
    band: int,
) -> Float[Tensor, "rows time part"]:
    """What each step finds in [CLS] (key 0) and in the valid steps at most `band` away from it.

    Steps are cut into blocks, and each block reads itself and its neighbours. Which keys are valid
    is one more feature of them, with which queries are multiplied by 1: a mask of all scores would
    take more memory than everything else.
    """
    rows, time, part = query.shape
    band = min(band, time)
    block = max(band, SHORTEST_BLOCK)
    blocks = -(-time // block)
    after = blocks * block - time  # steps that are missing in the last block
    around = (block, block + after)
    closed = torch.where(functional.pad(is_valid, around), 0.0, CLOSED).to(query.dtype)
    queries = functional.pad(query, (0, 1, 0, after), value=1.0)
    keys = torch.cat((functional.pad(key[:, 1:], (0, 0, *around)), closed[..., None]), dim=-1)
    values = functional.pad(value[:, 1:], (0, 1, *around))
    found = functional.scaled_dot_product_attention(
        queries.view(rows, blocks, block, part + 1),
        _with_neighbours(keys, key[:, :1], block, band),
        _with_neighbours(values, value[:, :1], block, band),
        attn_mask=_band_mask(block, band, query),
        scale=part**-0.5,
    )
    return found.reshape(rows, blocks * block, part + 1)[:, :time, :part]


def _with_neighbours(
    steps: Float[Tensor, "rows padded_time wide"],
    head: Float[Tensor, "rows 1 part"],
    block: int,
    band: int,
) -> Float[Tensor, "rows blocks memory wide"]:
    """[CLS], the end of the block before, the block, and the start of the block after."""
    rows, _, wide = steps.shape
    cut = steps.view(rows, -1, block, wide)
    heads = functional.pad(head, (0, 1))[:, None].expand(rows, cut.shape[1] - 2, 1, wide)
    before, own, after = cut[:, :-2, block - band :], cut[:, 1:-1], cut[:, 2:, :band]
    return torch.cat((heads, before, own, after), dim=2)


def _band_mask(block: int, band: int, like: Tensor) -> Float[Tensor, "block memory"]:
    """0 where a block's step may read, minus infinity elsewhere."""
    steps = torch.arange(block, device=like.device)[:, None] + band
    memory = torch.arange(block + 2 * band, device=like.device)
    is_near = functional.pad((steps - memory).abs() <= band, (1, 0), value=True)
    return torch.zeros_like(is_near, dtype=like.dtype).masked_fill_(~is_near, -torch.inf)
