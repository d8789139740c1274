"""Encoders and directions of the fusion as one compiled function each, forward and backward.

In torch a layer is some fifty operations on a few thousand numbers, most of whose time is spent on
getting from one to the next, and padding is computed like everything else. Here the clips of a
batch lie one after the other. Sums are taken in another order and dropout hits other numbers than
in torch's layers: weights agree to rounding, not to the bit, so that a config has to ask for it.
"""

from collections.abc import Callable, Sequence
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
Take = Callable[[int], Flat]


def fresh(count: int) -> Flat:
    """An array of so many numbers."""
    return np.empty(count, np.float32)


class Sizes(NamedTuple):
    """What the kernels must know about some layers."""

    dim: int
    heads: int
    layers: int
    dropped: int
    seed: int

    def drawn(self) -> "Sizes":
        """The same with a seed of its own, if anything is dropped."""
        return self._replace(seed=int(torch.randint(2**32, ()))) if self.dropped else self

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
    weights = [given.project.weight, given.project.bias, given.cls, gap, *weights_of(given.layers)]
    sizes = sizes_of(given.layers, given.dropout if given.training else 0.0)
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
    sizes = sizes_of(layers, first.dropout if first.training else 0.0)
    known = memory.head, memory.steps, memory.lengths, places
    answer: Tensor = _Read.apply(  # type: ignore[no-untyped-call]
        reader, *known, sizes, compiled, *weights_of(layers)
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
        (batch, time, width), dim = features.shape, sizes.dim
        flat, kernel = _joined(weights), weights[0].shape[2]
        starts = compiled.starts_of(_array(lengths))
        given = fresh(compiled.given_room(starts, kernel, width))
        is_known = np.empty(starts[-1], np.bool_)
        as_it_is = np.zeros(width, np.float32), np.ones(width, np.float32)
        compiled.lay_out(
            _array(features), starts, _array(known), *as_it_is, kernel, is_known, given
        )
        table = _array(position_table(time + 1, dim, torch.float32, features.device)).reshape(-1)
        x = fresh(compiled.rows_room(starts, dim))
        space = fresh(compiled.begin_room(starts, kernel, width, dim))
        chance = sizes.chance(0)
        compiled.begin(given, starts, is_known, kernel, flat, table, dim, *chance, space, x)
        at = flat.size - sizes.layers * compiled.layer_numbers(dim)
        places = starts, starts, is_known
        x, kept = forward(compiled, x, places, None, flat, at, sizes)
        head, steps = torch.empty(batch, dim), torch.empty(batch, time, dim)
        compiled.to_hidden(x, starts, dim, head.numpy(), steps.numpy())
        ctx.compiled, ctx.sizes, ctx.kernel, ctx.kept = compiled, sizes, kernel, kept
        ctx.given, ctx.at, ctx.space = (given, starts, is_known), at, space
        ctx.flat, ctx.weights, ctx.lengths = flat, weights, _array(lengths)
        return head, steps

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_head: Tensor, to_steps: Tensor) -> tuple[Tensor | None, ...]:
        compiled, sizes, (_, starts, _) = ctx.compiled, ctx.sizes, ctx.given
        nowhere = np.zeros((to_steps.shape[1] + 1) * sizes.dim, np.float32)
        slopes, _ = compiled.to_rows(
            _array(to_head), _array(to_steps), ctx.lengths, nowhere, 0, sizes.dim
        )
        to_weights = torch.zeros(ctx.flat.size)
        flat = ctx.flat, ctx.at, sizes, to_weights.numpy()
        slopes = backward(compiled, slopes, (starts, starts), ctx.kept, None, *flat)
        chance = sizes.chance(0)
        compiled.begin_back(
            slopes, *ctx.given, ctx.kernel, sizes.dim, *chance, ctx.space, to_weights.numpy()
        )
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
        x, kept = forward(compiled, x, (starts, ends, is_known), memory, flat, 0, sizes)
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
        memory, flat = (ctx.memory, to_memory), (ctx.flat, 0, sizes, to_weights.numpy())
        to_reader = backward(compiled, slopes, ctx.places, ctx.kept, memory, *flat)
        to_head, to_steps = torch.empty(batch, dim), torch.empty(batch, time, dim)
        compiled.to_hidden(to_memory, ctx.places[1], dim, to_head.numpy(), to_steps.numpy())
        found = torch.from_numpy(to_reader)[: batch * dim].view(batch, dim)
        parts = _parts(to_weights, ctx.weights)
        return found, to_head, to_steps, None, None, None, None, *parts


def forward(
    compiled: ModuleType,
    x: Flat,
    places: tuple[Flat, Flat, Flat],
    memory: Flat | None,
    flat: Flat,
    at: int,
    sizes: Sizes,
    take: Take = fresh,
) -> tuple[Flat, list[tuple[Flat, Flat]]]:
    """Rows after all layers, and what the way back needs.

    Args:
        compiled: The kernels.
        x: Rows.
        places: Where the rows of each clip begin, where those that they read, which are known.
        memory: Rows that are read; without it, they read themselves.
        flat: Weights.
        at: Where those of the first layer begin.
        sizes: Of the layers.
        take: Gives arrays of so many numbers.
    """
    starts, ends, _ = places
    kept = []
    for layer in range(sizes.layers):
        saved = take(compiled.kept_room(starts, ends, sizes.dim, sizes.heads))
        out, read_rows = take(x.size), x if memory is None else memory
        compiled.layer_forward(
            x, read_rows, *places, flat, at + layer * compiled.layer_numbers(sizes.dim), sizes.dim,
            sizes.heads, *sizes.chance(layer + 1), saved, out,
        )  # fmt: skip
        kept.append((x, saved))
        x = out
    return x, kept


def backward(
    compiled: ModuleType,
    slopes: Flat,
    places: tuple[Flat, Flat],
    kept: Sequence[tuple[Flat, Flat]],
    memory: tuple[Flat, Flat] | None,
    flat: Flat,
    at: int,
    sizes: Sizes,
    to_weights: Flat,
    take: Take = fresh,
) -> Flat:
    """Slopes of the rows that went in; those of weights and memory are added up."""
    space = take(compiled.slope_room(*places, sizes.dim))
    for layer in reversed(range(sizes.layers)):
        x, saved = kept[layer]
        to_x = take(x.size)
        to_x[:] = 0
        read_rows, to_read = (x, to_x) if memory is None else memory
        compiled.layer_backward(
            slopes, x, read_rows, *places, saved, flat,
            at + layer * compiled.layer_numbers(sizes.dim), sizes.dim, sizes.heads,
            *sizes.chance(layer + 1), space, to_x, to_read, to_weights,
        )  # fmt: skip
        slopes = to_x
    return slopes


_kept_weights: WeakKeyDictionary[nn.Module, list[Tensor]] = WeakKeyDictionary()


def weights_of(layers: nn.ModuleList) -> list[Tensor]:
    """Weights of layers in the order in which the kernels read them."""
    found = _kept_weights.get(layers)
    if found is None or found[0] is not cast(Any, layers[0]).attention.query.weight:
        found = _kept_weights[layers] = [one for layer in layers for one in _of_layer(layer)]
    return found


def _of_layer(layer: Any) -> list[Tensor]:
    query, both, out = layer.attention.query, layer.attention.key_value, layer.attention.out
    rest = [w for p in (out, layer.norm, layer.widen, layer.narrow) for w in (p.weight, p.bias)]
    return [query.weight, both.weight, query.bias, both.bias, *rest]


def sizes_of(layers: nn.ModuleList, rate: float) -> Sizes:
    """What the kernels must know, with a fresh seed if there is dropout at this rate."""
    first = cast(TransformerLayer, layers[0])
    dropped = dropped_of_256(rate) if rate else 0
    dim, heads = first.norm.normalized_shape[0], first.attention.heads
    return Sizes(dim, heads, len(layers), dropped, 0).drawn()


def _joined(weights: Sequence[Tensor]) -> Flat:
    joined: Tensor = _flatten_dense_tensors(weights)  # type: ignore[no-untyped-call]
    return joined.detach().numpy()


def _parts(slopes: Tensor, weights: Sequence[Tensor]) -> Sequence[Tensor]:
    parts: Sequence[Tensor] = _unflatten_dense_tensors(slopes, weights)  # type: ignore[no-untyped-call]
    return parts


def _array(tensor: Tensor) -> Flat:
    return tensor.detach().contiguous().numpy()
