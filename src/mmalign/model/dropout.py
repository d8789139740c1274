"""Dropout that draws one random byte an element instead of one random float."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

LOWEST, HIGHEST = -(2**63), 2**63 - 1


def dropout(
    values: Float[Tensor, "*shape"], rate: float, *, is_training: bool
) -> Float[Tensor, "*shape"]:
    """Set a share of the values to 0 and scale up the rest, so that the mean stays.

    On a CPU the rate is rounded to 1/256, and eight elements share one random number: on tensors
    of this project's size that takes a third of the time of torch's own dropout, which was a
    quarter of a training step.
    """
    if not is_training or rate == 0:
        return values
    if values.device.type != "cpu":
        return functional.dropout(values, rate)
    dropped = dropped_of_256(rate)
    count = values.numel()
    words = torch.randint(LOWEST, HIGHEST, ((count + 7) // 8,))
    is_kept = words.view(torch.uint8)[:count].view(values.shape) >= dropped
    return values * is_kept.to(values.dtype).mul_(256 / (256 - dropped))


def dropped_of_256(rate: float) -> int:
    """How many of 256 numbers are dropped: one at least, and never all."""
    return min(max(1, round(256 * rate)), 255)
