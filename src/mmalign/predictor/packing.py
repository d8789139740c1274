"""Weights of a network as flat arrays, in the order in which the kernels of one clip read them."""

from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np
from torch import Tensor, nn

from mmalign.model.attention import Attention, PreNormLayer, TransformerLayer
from mmalign.model.backbone import Backbone
from mmalign.model.encoder import Encoder
from mmalign.model.fusion import CrossAttention
from mmalign.model.packing import Flat, array_of, joined, packed_linear, packed_matrix, padded


def packed_encoder(encoder: Encoder, mean: Flat, scale: Flat) -> Flat:
    """What `encode` reads; features lose the mean and are divided by the scale."""
    dim, features, kernel = encoder.project.weight.shape
    bias = cast(Tensor, encoder.project.bias)
    # [dim, features, kernel] to a line for each of the features of each step that is seen.
    project = array_of(encoder.project.weight).transpose(2, 1, 0).reshape(kernel * features, dim)
    gap = np.zeros(dim, np.float32) if encoder.gap is None else array_of(encoder.gap)
    return joined(
        [mean, 1 / scale],
        [padded(array_of(encoder.cls)[None]), padded(gap[None])],
        [padded(project), padded(array_of(bias)[None])],
        *(_self_layer(layer) for layer in cast(Iterable[TransformerLayer], encoder.layers)),
        _norm(encoder.norm),
    )


def packed_answer(backbone: Backbone) -> Flat:
    """What `answer` reads: the fusion and the head."""
    parts: list[Iterable[Flat]] = []
    for read in cast(Iterable[CrossAttention], backbone.fuse.readers):
        parts += [_cross_layer(layer) for layer in cast(Iterable[TransformerLayer], read.layers)]
        parts.append(_norm(read.norm))
    first, last = cast(nn.Linear, backbone.head[0]), cast(nn.Linear, backbone.head[2])
    return joined(*parts, packed_linear(first), packed_linear(last))


def _self_layer(layer: TransformerLayer) -> Iterator[Flat]:
    attention = layer.attention
    yield from packed_linear(attention.query)
    for weight, bias in _keys_and_values(attention):
        yield from packed_matrix(weight, bias)
    yield from _rest(layer)


def _cross_layer(layer: TransformerLayer) -> Iterator[Flat]:
    """The same, with a line for each output of keys and values."""
    attention = layer.attention
    yield from packed_linear(attention.query)
    for weight, bias in _keys_and_values(attention):
        yield padded(array_of(weight))
        yield padded(array_of(bias)[None])
    yield from _rest(layer)


def _rest(layer: TransformerLayer) -> Iterator[Flat]:
    yield from packed_linear(layer.attention.out)
    yield from _norm(layer.norm)
    yield from packed_linear(layer.widen)
    yield from packed_linear(layer.narrow)
    yield from _norm(layer.norm_wide if isinstance(layer, PreNormLayer) else layer.norm)


def _keys_and_values(attention: Attention) -> Iterable[tuple[Tensor, Tensor]]:
    both = attention.key_value
    return zip(both.weight.chunk(2), both.bias.chunk(2), strict=True)


def _norm(norm: nn.Module) -> Iterator[Flat]:
    """Gain and bias; nothing of an identity."""
    if isinstance(norm, nn.LayerNorm):
        yield padded(array_of(norm.weight)[None])
        yield padded(array_of(norm.bias)[None])
