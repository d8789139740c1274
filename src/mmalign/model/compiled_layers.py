"""Encoders and directions of the fusion as one compiled function each, forward and backward.

In torch a layer is some fifty operations on a few thousand numbers, most of whose time is spent on
getting from one to the next, and padding is computed like everything else. Here the clips of a
batch lie one after the other. Sums are taken in another order and dropout hits other numbers than
in torch's layers: weights agree to rounding, not to the bit, so that a config has to ask for it.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from mmalign.align.compiled import kernels
from mmalign.model.attention import TransformerLayer
from mmalign.model.config import BackboneConfig
from mmalign.model.dropout import dropped_of_256
from mmalign.model.hidden import Hidden
from mmalign.model.positions import position_table

LONGEST = 512
"""Longer clips are left to torch, which does not write down what a step pays attention to."""

LANES = 16
SEEDS = 4
"""Seeds of a layer's dropouts lie so far apart."""

Flat = np.ndarray


class Sizes(NamedTuple):
    """What the kernels must know about some layers."""

    dim: int
    heads: int
    layers: int
    dropped: int
    seed: int

    def chance(self, layer: int) -> tuple[np.uint32, np.uint32]:
        """The seed of a layer, and how many of 256 numbers are dropped; layer 0 is the input."""
        return np.uint32((self.seed + SEEDS * layer) % 2**32), np.uint32(self.dropped)


def can_be_compiled(config: BackboneConfig) -> bool:
    """Whether the config asks for compiled layers, and there are kernels for its layers."""
    is_covered = config.norm == "paper" and not config.attention_band and config.dim % LANES == 0
    return config.compiled_layers and is_covered


def layer_kernels(longest: int, *tensors: Tensor) -> ModuleType | None:
    """The kernels, if they take these tensors: float32 on the CPU, and no clip too long."""
    takes = longest <= LONGEST and all(
        tensor.device.type == "cpu" and tensor.dtype == torch.float32 for tensor in tensors
    )
    return kernels("model.kernels.batches") if takes else None


def encoded(
    compiled: ModuleType,
    encoder: nn.Module,
    features: Float[Tensor, "batch time features"],
    lengths: Int[Tensor, " batch"],
    known: Bool[Tensor, "batch time"],
    gap: Float[Tensor, " dim"] | None,
) -> Hidden:
    """What `Encoder.forward` gives; the vector that stands in gaps is needed if there are any."""
    given: Any = encoder
    gap = torch.zeros_like(given.cls) if gap is None else gap
    weights = [given.project.weight, given.project.bias, given.cls, gap, *_weights(given.layers)]
    sizes = _sizes(given.layers, given.dropout if given.training else 0.0)
    head, steps = _Encode.apply(  # type: ignore[no-untyped-call]
        features, lengths, known, sizes, compiled, *weights
    )
    return Hidden(head, steps, lengths)


def read(
    compiled: ModuleType,
    layers: nn.ModuleList,
    reader: Float[Tensor, "batch dim"],
    memory: Hidden,
    places: Float[Tensor, "..."],
) -> Float[Tensor, "batch dim"]:
    """What `CrossAttention.forward` gives: a reader's [CLS] after it has read a memory.

    Args:
        compiled: The kernels.
        layers: Of this direction.
        reader: Without its position.
        memory: Without its positions.
        places: Positions of [CLS] and steps of the memory, for all clips or for each.
    """
    first = cast(TransformerLayer, layers[0])
    sizes = _sizes(layers, first.dropout if first.training else 0.0)
    known = memory.head, memory.steps, memory.lengths, places
    answer: Tensor = _Read.apply(  # type: ignore[no-untyped-call]
        reader, *known, sizes, compiled, *_weights(layers)
    )
    return answer


class _Encode(Function):
    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        lengths: Tensor,
        known: Tensor,
        sizes: Sizes,
        compiled: ModuleType,
        *weights: Tensor,
    ) -> tuple[Tensor, Tensor]:
        (batch, time, _), dim = features.shape, sizes.dim
        flat, kernel = _joined(weights), weights[0].shape[2]
        table = _array(position_table(time + 1, dim, torch.float32, features.device)).reshape(-1)
        x, starts, is_known, given = compiled.begin(
            *map(_array, (features, lengths, known)), kernel, flat, table, dim, *sizes.chance(0)
        )
        at = flat.size - sizes.layers * compiled.layer_numbers(dim)
        x, kept = _forward(compiled, x, (starts, starts, is_known), None, flat, at, sizes)
        head, steps = torch.empty(batch, dim), torch.empty(batch, time, dim)
        compiled.to_hidden(x, starts, dim, head.numpy(), steps.numpy())
        ctx.compiled, ctx.sizes, ctx.shape = compiled, sizes, (kernel, features.shape[2])
        ctx.kept, ctx.given, ctx.at = kept, (given, starts, is_known), at
        ctx.flat, ctx.weights, ctx.lengths = flat, weights, _array(lengths)
        return head, steps

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_head: Tensor, to_steps: Tensor) -> tuple[Tensor | None, ...]:
        compiled, sizes, (given, starts, is_known) = ctx.compiled, ctx.sizes, ctx.given
        nowhere = np.zeros((to_steps.shape[1] + 1) * sizes.dim, np.float32)
        slopes, _ = compiled.to_rows(
            _array(to_head), _array(to_steps), ctx.lengths, nowhere, 0, sizes.dim
        )
        to_weights = torch.zeros(ctx.flat.size)
        places = starts, starts
        slopes = _backward(
            compiled, slopes, places, ctx.kept, None, ctx.flat, ctx.at, sizes, to_weights.numpy()
        )
        compiled.begin_back(
            slopes, given, starts, is_known, *ctx.shape, sizes.dim, *sizes.chance(0),
            to_weights.numpy(),
        )  # fmt: skip
        return None, None, None, None, None, *_parts(to_weights, ctx.weights)


class _Read(Function):
    @staticmethod
    def forward(
        ctx: Any,
        reader: Tensor,
        head: Tensor,
        steps: Tensor,
        lengths: Tensor,
        places: Tensor,
        sizes: Sizes,
        compiled: ModuleType,
        *weights: Tensor,
    ) -> Tensor:
        batch, dim = reader.shape
        flat, placed = _joined(weights), _array(places)
        jump = placed[0].size if placed.ndim == 3 else 0
        memory, ends = compiled.to_rows(
            *map(_array, (head, steps, lengths)), placed.reshape(-1), jump, dim
        )
        nothing = np.zeros((batch, 0, dim), np.float32)
        none = np.zeros(batch, np.int64)
        x, starts = compiled.to_rows(_array(reader), nothing, none, placed.reshape(-1), jump, dim)
        is_known = np.ones(int(ends[-1]), np.bool_)
        x, kept = _forward(compiled, x, (starts, ends, is_known), memory, flat, 0, sizes)
        ctx.compiled, ctx.sizes, ctx.kept, ctx.memory = compiled, sizes, kept, memory
        ctx.places, ctx.flat, ctx.weights, ctx.shape = (starts, ends), flat, weights, steps.shape
        return torch.from_numpy(x)[: batch * dim].view(batch, dim)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_answer: Tensor) -> tuple[Tensor | None, ...]:
        compiled, sizes = ctx.compiled, ctx.sizes
        batch, time, dim = ctx.shape
        to_weights = torch.zeros(ctx.flat.size)
        slopes = np.zeros_like(ctx.kept[0][0])
        slopes[: batch * dim] = _array(to_answer).reshape(-1)
        to_memory = np.zeros_like(ctx.memory)
        to_reader = _backward(
            compiled, slopes, ctx.places, ctx.kept, (ctx.memory, to_memory), ctx.flat, 0, sizes,
            to_weights.numpy(),
        )  # fmt: skip
        to_head, to_steps = torch.empty(batch, dim), torch.empty(batch, time, dim)
        compiled.to_hidden(to_memory, ctx.places[1], dim, to_head.numpy(), to_steps.numpy())
        found = torch.from_numpy(to_reader)[: batch * dim].view(batch, dim)
        parts = _parts(to_weights, ctx.weights)
        return found, to_head, to_steps, None, None, None, None, *parts


def _forward(
    compiled: ModuleType,
    x: Flat,
    places: tuple[Flat, Flat, Flat],
    memory: Flat | None,
    flat: Flat,
    at: int,
    sizes: Sizes,
) -> tuple[Flat, list[Any]]:
    """Rows after all layers; without a memory, they read themselves."""
    starts, ends, _ = places
    kept = []
    for layer in range(sizes.layers):
        read_rows = x if memory is None else memory
        out, saved = compiled.layer_forward(
            x, int(starts[-1]), read_rows, int(ends[-1]), *places, flat,
            at + layer * compiled.layer_numbers(sizes.dim), sizes.dim, sizes.heads,
            *sizes.chance(layer + 1),
        )  # fmt: skip
        kept.append((x, saved))
        x = out
    return x, kept


def _backward(
    compiled: ModuleType,
    slopes: Flat,
    places: tuple[Flat, Flat],
    kept: Sequence[Any],
    memory: tuple[Flat, Flat] | None,
    flat: Flat,
    at: int,
    sizes: Sizes,
    to_weights: Flat,
) -> Flat:
    """Slopes of the rows that went in; those of weights and memory are added up."""
    starts, ends = places
    for layer in reversed(range(sizes.layers)):
        x, saved = kept[layer]
        to_x = np.zeros_like(x)
        read_rows, to_read = (x, to_x) if memory is None else memory
        compiled.layer_backward(
            slopes, x, int(starts[-1]), read_rows, int(ends[-1]), starts, ends, saved, flat,
            at + layer * compiled.layer_numbers(sizes.dim), sizes.dim, sizes.heads,
            *sizes.chance(layer + 1), to_x, to_read, to_weights,
        )  # fmt: skip
        slopes = to_x
    return slopes


_kept_weights: WeakKeyDictionary[nn.Module, list[Tensor]] = WeakKeyDictionary()


def _weights(layers: nn.ModuleList) -> list[Tensor]:
    """Weights of layers in the order in which the kernels read them."""
    found = _kept_weights.get(layers)
    if found is None or found[0] is not cast(Any, layers[0]).attention.query.weight:
        found = _kept_weights[layers] = [one for layer in layers for one in _of_layer(layer)]
    return found


def _of_layer(layer: Any) -> list[Tensor]:
    query, both, out = layer.attention.query, layer.attention.key_value, layer.attention.out
    rest = [w for p in (out, layer.norm, layer.widen, layer.narrow) for w in (p.weight, p.bias)]
    return [query.weight, both.weight, query.bias, both.bias, *rest]


def _sizes(layers: nn.ModuleList, rate: float) -> Sizes:
    first = cast(TransformerLayer, layers[0])
    dropped = dropped_of_256(rate) if rate else 0
    seed = int(torch.randint(2**32, ())) if rate else 0
    dim, heads = first.norm.normalized_shape[0], first.attention.heads
    return Sizes(dim, heads, len(layers), dropped, seed)


def _joined(weights: Sequence[Tensor]) -> Flat:
    joined: Tensor = _flatten_dense_tensors(weights)  # type: ignore[no-untyped-call]
    return joined.detach().numpy()


def _parts(slopes: Tensor, weights: Sequence[Tensor]) -> Sequence[Tensor]:
    parts: Sequence[Tensor] = _unflatten_dense_tensors(slopes, weights)  # type: ignore[no-untyped-call]
    return parts


def _array(tensor: Tensor) -> Flat:
    return tensor.detach().contiguous().numpy()
