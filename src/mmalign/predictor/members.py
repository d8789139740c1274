"""Several networks that answer together: the mean of their answers, and their weights by name."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mmalign.predictor.model import average_answers


def mean_outputs(
    outputs: Sequence[Float[Tensor, "clips outputs"]],
) -> Float[Tensor, "clips outputs"]:
    """The outputs whose probabilities, or values, are the mean over the members."""
    return outputs[0] if len(outputs) == 1 else average_answers(torch.stack(list(outputs)))


def member_prefix(number: int) -> str:
    """What the names of a member's weights begin with; nothing for the first one.

    >>> [member_prefix(number) for number in range(3)]
    ['', 'members.1.', 'members.2.']
    """
    return f"members.{number}." if number else ""


def split_members(weights: Mapping[str, Tensor], count: int) -> list[dict[str, Tensor]]:
    """The weights of each member under its own names; what belongs to no other is the first's."""
    first, others = dict(weights), []
    for number in range(1, count):
        start = member_prefix(number)
        names = [name for name in first if name.startswith(start)]
        others.append({name.removeprefix(start): first.pop(name) for name in names})
    return [first, *others]
