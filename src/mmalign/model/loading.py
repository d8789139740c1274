"""Weights of a file must be exactly those of the network that its settings describe."""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

NAMED = 3


def check_weights(make: Callable[[], nn.Module], weights: Mapping[str, Tensor]) -> None:
    """Compare names, shapes and types with those of a network that takes no memory.

    Only then is it safe to build it: settings are a few bytes, whatever size they ask for.

    Raises:
        ValueError: If they differ; names the first few.
    """
    with torch.device("meta"):
        expected = make().state_dict()
    problems = [f"{name} is missing" for name in expected if name not in weights]
    problems += [f"{name} is not known" for name in weights if name not in expected]
    for name, wanted in expected.items():
        given = weights.get(name, wanted)
        # Files keep all numbers in float32, also a buffer that is computed with in float64.
        is_kept = given.dtype == torch.float32 and wanted.is_floating_point()
        is_alike = given.dtype == wanted.dtype or is_kept
        if given.shape != wanted.shape or not is_alike:
            problems.append(
                f"{name} is {given.dtype} {list(given.shape)}, "
                f"expected {wanted.dtype} {list(wanted.shape)}"
            )
    if problems:
        more = f"; and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
        raise ValueError("; ".join(problems[:NAMED]) + more)


def drawn(*shape: int, over: float = 1.0) -> Float[Tensor, "..."]:
    """Numbers from a normal distribution, divided; `torch.randn(shape) / over` to the bit.

    Where `check_weights` asks for shapes alone, none are drawn: there, torch would import its
    compiler to do so, which takes longer than loading a model and predicting with it.
    """
    numbers = torch.empty(shape)
    return numbers if numbers.is_meta else numbers.normal_().div_(over)
