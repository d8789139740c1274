"""Weights of a network as flat arrays, in the order in which the kernels of one clip read them."""

from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np
from jaxtyping import Float32
from torch import Tensor, nn

from mmalign.imputers.mmalign import Fitter
from mmalign.model.attention import Attention, PreNormLayer, TransformerLayer
from mmalign.model.backbone import Backbone
from mmalign.model.encoder import Encoder
from mmalign.model.fusion import CrossAttention

Flat = Float32[np.ndarray, "..."]
LANES = 16
"""Lines of a matrix are filled up with zeros to whole vectors of so many numbers."""


def in_vectors(count: int) -> int:
    """The count rounded up to whole vectors."""
    return -(-count // LANES) * LANES


def packed_encoder(encoder: Encoder, mean: Flat, scale: Flat) -> Flat:
    """What `encode` reads; features lose the mean and are divided by the scale."""
    dim, features, kernel = encoder.project.weight.shape
    bias = cast(Tensor, encoder.project.bias)
    # [dim, features, kernel] to a line for each of the features of each step that is seen.
    project = _array(encoder.project.weight).transpose(2, 1, 0).reshape(kernel * features, dim)
    gap = np.zeros(dim, np.float32) if encoder.gap is None else _array(encoder.gap)
    return _joined(
        [mean, 1 / scale],
        [_padded(_array(encoder.cls)[None]), _padded(gap[None])],
        [_padded(project), _padded(_array(bias)[None])],
        *(_self_layer(layer) for layer in cast(Iterable[TransformerLayer], encoder.layers)),
        _norm(encoder.norm),
    )


def packed_fitter(fitter: Fitter) -> Flat:
    """What `impute` reads: two GRUs and the projection."""
    grus = fitter.forward_gru, fitter.backward_gru
    parts = [
        _matrix(getattr(gru, f"weight_{kind}_l0"), getattr(gru, f"bias_{kind}_l0"))
        for gru in grus
        for kind in ("ih", "hh")
    ]
    return _joined(*parts, _linear(fitter.project))


def packed_answer(backbone: Backbone) -> Flat:
    """What `answer` reads: the fusion and the head."""
    parts: list[Iterable[Flat]] = []
    for read in cast(Iterable[CrossAttention], backbone.fuse.readers):
        parts += [_cross_layer(layer) for layer in cast(Iterable[TransformerLayer], read.layers)]
        parts.append(_norm(read.norm))
    first, last = cast(nn.Linear, backbone.head[0]), cast(nn.Linear, backbone.head[2])
    return _joined(*parts, _linear(first), _linear(last))


def _self_layer(layer: TransformerLayer) -> Iterator[Flat]:
    attention = layer.attention
    yield from _linear(attention.query)
    for weight, bias in _keys_and_values(attention):
        yield from _matrix(weight, bias)
    yield from _rest(layer)


def _cross_layer(layer: TransformerLayer) -> Iterator[Flat]:
    """The same, with a line for each output of keys and values."""
    attention = layer.attention
    yield from _linear(attention.query)
    for weight, bias in _keys_and_values(attention):
        yield _padded(_array(weight))
        yield _padded(_array(bias)[None])
    yield from _rest(layer)


def _rest(layer: TransformerLayer) -> Iterator[Flat]:
    yield from _linear(layer.attention.out)
    yield from _norm(layer.norm)
    yield from _linear(layer.widen)
    yield from _linear(layer.narrow)
    yield from _norm(layer.norm_wide if isinstance(layer, PreNormLayer) else layer.norm)


def _keys_and_values(attention: Attention) -> Iterable[tuple[Tensor, Tensor]]:
    both = attention.key_value
    return zip(both.weight.chunk(2), both.bias.chunk(2), strict=True)


def _linear(layer: nn.Linear) -> Iterator[Flat]:
    return _matrix(layer.weight, layer.bias)


def _matrix(weight: Tensor, bias: Tensor) -> Iterator[Flat]:
    yield _padded(_array(weight).T)
    yield _padded(_array(bias)[None])


def _norm(norm: nn.Module) -> Iterator[Flat]:
    """Gain and bias; nothing of an identity."""
    if isinstance(norm, nn.LayerNorm):
        yield _padded(_array(norm.weight)[None])
        yield _padded(_array(norm.bias)[None])


def _padded(lines: Float32[np.ndarray, "lines numbers"]) -> Flat:
    missing = in_vectors(lines.shape[1]) - lines.shape[1]
    return np.pad(lines, ((0, 0), (0, missing))).reshape(-1)


def _joined(*parts: Iterable[Flat]) -> Flat:
    return np.concatenate([one.reshape(-1) for part in parts for one in part])


def _array(tensor: Tensor) -> Float32[np.ndarray, "..."]:
    found: Float32[np.ndarray, ...] = tensor.detach().numpy()
    return found
