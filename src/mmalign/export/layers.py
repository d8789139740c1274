"""Layers of the network as a graph: attention, positions, recurrence."""

import math

import numpy as np
from torch import nn

from mmalign.export.graph import Graph, Value
from mmalign.export.sequences import array, linear, normal
from mmalign.model.attention import Attention, PreNormLayer, TransformerLayer

CLOSED = np.float32(-np.inf)


def linear_layer(layer: nn.Linear, given: Value) -> Value:
    """What a linear layer makes of it."""
    return linear(given, array(layer.weight), array(layer.bias))


def norm_layer(layer: nn.Module, given: Value) -> Value:
    """What a layer norm makes of it; an identity leaves it."""
    if not isinstance(layer, nn.LayerNorm):
        return given
    return normal(given, array(layer.weight), array(layer.bias), layer.eps)


def sequential(layers: nn.Sequential, given: Value) -> Value:
    """Linear layers with what bends between them."""
    bends = {nn.ReLU: "Relu", nn.Tanh: "Tanh"}
    for layer in layers:
        if isinstance(layer, nn.Linear):
            given = linear_layer(layer, given)
        else:
            given = given.apply(bends[type(layer)])
    return given


def attended(layer: Attention, queries: Value, memory: Value, is_valid: Value) -> Value:
    """What queries find in a memory; `is_valid` is `[batch or 1, queries or 1, memory]`."""
    dim, heads = layer.query.out_features, layer.heads
    both = linear_layer(layer.key_value, memory)

    def split(sequence: Value) -> Value:
        return sequence.reshape(0, 0, heads, dim // heads).transpose(0, 2, 1, 3)

    query = split(linear_layer(layer.query, queries))
    key, value = split(both.slice(2, 0, dim)), split(both.slice(2, dim, 2 * dim))
    scores = query @ key.transpose(0, 1, 3, 2) * (1 / math.sqrt(dim // heads))
    open_scores = scores.graph.where(is_valid.wider(1), scores, CLOSED)
    found = (open_scores.apply("Softmax", axis=-1) @ value).transpose(0, 2, 1, 3)
    return linear_layer(layer.out, found.reshape(0, 0, dim))


def layer_read(layer: TransformerLayer, sequence: Value, memory: Value, is_valid: Value) -> Value:
    """A sequence after one layer that reads a memory."""
    if isinstance(layer, PreNormLayer):
        read, remembered = (norm_layer(layer.norm, one) for one in (sequence, memory))
        found = attended(layer.attention, read, remembered, is_valid) + sequence
        wide = linear_layer(layer.widen, norm_layer(layer.norm_wide, found))
        return linear_layer(layer.narrow, wide.apply("Relu")) + found
    found = attended(layer.attention, sequence, memory, is_valid) + sequence
    wide = linear_layer(layer.widen, found).apply("Relu")
    return linear_layer(layer.narrow, wide) + norm_layer(layer.norm, found)


def sinusoids(positions: Value, dim: int) -> Value:
    """Positions `[…, time]` in float64 as sines and cosines `[…, time, dim]` in float32."""
    half = (dim + 1) // 2
    rates = np.exp(np.arange(half) * (-math.log(10_000.0) / half))
    phases = np.tile([0.0, math.pi / 2], half)[:dim]
    angles = positions.apply("Unsqueeze", np.array([-1], np.int64)) * np.repeat(rates, 2)[:dim]
    return (angles + phases).apply("Sin").cast(np.float32)


def counted(graph: Graph, time: Value, dim: int) -> Value:
    """The table of positions 0, 1, 2, …."""
    return sinusoids(graph.range(time).cast(np.float64), dim)


def gru_weights(*grus: nn.GRU) -> list[np.ndarray]:
    """Weights of one GRU, or of two in opposite directions, as the operator takes them."""

    def of(name: str, gru: nn.GRU) -> np.ndarray:
        reset, update, new = np.split(array(getattr(gru, name)), 3)
        return np.concatenate((update, reset, new))

    biases = [np.concatenate((of("bias_ih_l0", g), of("bias_hh_l0", g))) for g in grus]
    return [
        np.stack([of("weight_ih_l0", gru) for gru in grus]),
        np.stack([of("weight_hh_l0", gru) for gru in grus]),
        np.stack(biases),
    ]


def gru_states(steps: Value, lengths: Value | None, *grus: nn.GRU) -> tuple[Value, Value]:
    """All states `[batch, time, directions * dim]`, and the last of each clip."""
    dim = grus[0].hidden_size
    states, last = steps.graph.op(
        "GRU",
        steps.transpose(1, 0, 2),
        *gru_weights(*grus),
        None if lengths is None else lengths.cast(np.int32),
        outputs=2,
        hidden_size=dim,
        linear_before_reset=1,
        direction="bidirectional" if len(grus) == 2 else "forward",
    )
    # [time, directions, batch, dim]
    flat = states.transpose(2, 0, 1, 3).reshape(0, 0, len(grus) * dim)
    return flat, last.take(np.array(0), 0)
