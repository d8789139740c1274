"""Plans that are not solved for: the fitter's softmax and the uniform floor."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mmalign.align.band import is_inside


def band_softmax(
    logits: Float[Tensor, "batch time width"], inside: Bool[Tensor, "batch time width"]
) -> Float[Tensor, "batch time width"]:
    """Softmax over the entries inside; edge rows sum to 1 inside the sequence (design E5).

    Entries outside, and with them whole rows of padding, are exactly 0, whatever the logits hold
    there, and pass no gradient.

    >>> inside = is_inside(torch.tensor([2]), window=1)
    >>> band_softmax(torch.zeros(1, 2, 3), inside)[0].tolist()
    [[0.0, 0.5, 0.5], [0.5, 0.5, 0.0]]
    """
    # The most negative number rather than -inf: a row of padding must not become 0 / 0.
    lowest = torch.finfo(logits.dtype).min
    return logits.masked_fill(~inside, lowest).softmax(-1) * inside


def uniform_plan(
    source_lengths: Int[Tensor, " batch"],
    target_lengths: Int[Tensor, " batch"] | None = None,
    *,
    window: int,
    time: int | None = None,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "batch time width"]:
    """The floor: every row spreads its mass evenly over its window (design E9).

    >>> uniform_plan(torch.tensor([2]), window=1)[0].tolist()
    [[0.0, 0.5, 0.5], [0.5, 0.5, 0.0]]
    """
    inside = is_inside(source_lengths, target_lengths, window=window, time=time).to(dtype)
    return inside / inside.sum(-1, keepdim=True).clamp(min=1.0)
