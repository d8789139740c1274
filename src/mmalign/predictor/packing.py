"""Weights of a network as flat arrays, in the order in which the kernels of one clip read them.

Weights are arrays by the names that they have in `Model.state_dict`. No torch.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from jaxtyping import Float

from mmalign.data.names import under
from mmalign.model.lines import Flat, joined, padded

Weights = Mapping[str, Float[np.ndarray, "..."]]
"""Arrays by name."""


def packed_encoder(weights: Weights, layers: int, mean: Flat, scale: Flat) -> Flat:
    """What `encode` reads; features lose the mean and are divided by the scale."""
    project = weights["project.weight"]
    dim, features, kernel = project.shape
    # [dim, features, kernel] to a line for each of the features of each step that is seen.
    lines = project.transpose(2, 1, 0).reshape(kernel * features, dim)
    gap = weights.get("gap", np.zeros(dim, np.float32))
    return joined(
        [mean, 1 / scale],
        [padded(weights["cls"][None]), padded(gap[None])],
        [padded(lines), padded(weights["project.bias"][None])],
        *(_self_layer(under(weights, f"layers.{number}.")) for number in range(layers)),
        _norm(weights, "norm"),
    )


def packed_answer(weights: Weights, readings: int, layers: int) -> Flat:
    """What `answer` reads: the fusion and the head."""
    parts: list[Iterable[Flat]] = []
    for number in range(readings):
        read = under(weights, f"fuse.readers.{number}.")
        parts += [_cross_layer(under(read, f"layers.{number}.")) for number in range(layers)]
        parts.append(_norm(read, "norm"))
    return joined(*parts, _linear(weights, "head.0"), _linear(weights, "head.2"))


def _self_layer(weights: Weights) -> Iterator[Flat]:
    yield from _linear(weights, "attention.query")
    for weight, bias in _keys_and_values(weights):
        yield from _matrix(weight, bias)
    yield from _rest(weights)


def _cross_layer(weights: Weights) -> Iterator[Flat]:
    """The same, with a line for each output of keys and values."""
    yield from _linear(weights, "attention.query")
    for weight, bias in _keys_and_values(weights):
        yield padded(weight)
        yield padded(bias[None])
    yield from _rest(weights)


def _rest(weights: Weights) -> Iterator[Flat]:
    yield from _linear(weights, "attention.out")
    yield from _norm(weights, "norm")
    yield from _linear(weights, "widen")
    yield from _linear(weights, "narrow")
    yield from _norm(weights, "norm_wide" if "norm_wide.weight" in weights else "norm")


def _keys_and_values(weights: Weights) -> Iterable[tuple[Flat, Flat]]:
    both = weights["attention.key_value.weight"], weights["attention.key_value.bias"]
    return zip(*(np.split(one, 2) for one in both), strict=True)


def _linear(weights: Weights, name: str) -> Iterator[Flat]:
    return _matrix(weights[f"{name}.weight"], weights[f"{name}.bias"])


def _matrix(weight: Flat, bias: Flat) -> Iterator[Flat]:
    """A line for each input, of a matrix that has one for each output, and the bias."""
    yield padded(weight.T)
    yield padded(bias[None])


def _norm(weights: Weights, name: str) -> Iterator[Flat]:
    """Gain and bias; nothing where there is no norm."""
    if f"{name}.weight" in weights:
        yield padded(weights[f"{name}.weight"][None])
        yield padded(weights[f"{name}.bias"][None])
