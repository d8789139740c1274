"""The states of a GRU, compiled where Numba and the CPU allow it."""

from types import ModuleType
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn import functional

from mmalign.align.compiled import can_compile, kernels

ROWS = 8  # of a tile of the kernels
VECTOR = 64  # bytes


def gru_states(
    gru: nn.GRU, steps: Float[Tensor, "batch time features"]
) -> Float[Tensor, "batch time dim"]:
    """All states of a GRU of one layer, batch first, that starts from zeros.

    Torch goes from operator to operator at every step; compiled, the whole recurrence is one call,
    two to four times as fast. Elsewhere torch's own runs; both agree to rounding.
    """
    weight = cast(Tensor, gru.weight_hh_l0)
    recurrence = kernels("model.kernels.gru") if can_compile(steps, weight) else None
    if recurrence is None:
        states: Tensor = gru(steps)[0]
        return states
    compiled: Tensor = _CompiledGRU.apply(  # type: ignore[no-untyped-call]
        steps, gru.weight_ih_l0, gru.bias_ih_l0, weight, gru.bias_hh_l0, recurrence
    )
    return compiled


class _CompiledGRU(Function):
    """Everything is kept as the kernels take it: gate by gate, time before batch, padded."""

    @staticmethod
    def forward(
        ctx: Any,
        steps: Tensor,
        input_weight: Tensor,
        input_bias: Tensor,
        weight: Tensor,
        bias: Tensor,
        recurrence: ModuleType,
    ) -> Tensor:
        batch, time, features = steps.shape
        dim = weight.shape[1]
        # One clip needs no tile: of a long one, a tile would take eight times the memory.
        rows = 1 if batch == 1 else _padded(batch, ROWS)
        width = _padded(dim, VECTOR // steps.element_size())
        given = _pad(steps.transpose(0, 1), 0, rows - batch).reshape(time * rows, features)
        input_weights = _pad(input_weight.reshape(3, dim, features), 0, width - dim)
        input_biases = _pad(input_bias.reshape(3, dim), width - dim)
        weights = _pad(weight.reshape(3, dim, dim), width - dim, width - dim)
        biases = _pad(bias.reshape(3, 1, dim), width - dim).expand(3, rows, width)
        inputs = steps.new_empty(3, time * rows, width)
        for gate in range(3):
            torch.addmm(input_biases[gate], given, input_weights[gate].T, out=inputs[gate])
        states = steps.new_empty(time + 1, rows * width)
        gates = steps.new_empty(4, time, rows * width)
        recurrence.gru_forward(
            *_arrays(inputs.view(3, time, -1), weights.mT, biases.reshape(3, -1)),
            width,
            *_arrays(states, gates),
        )
        ctx.save_for_backward(given, input_weights, weights, states, gates)
        ctx.recurrence, ctx.shape = recurrence, (batch, time, rows, width, dim)
        return states[1:].view(time, rows, width)[:, :batch, :dim].transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        given, input_weights, weights, states, gates = ctx.saved_tensors
        batch, time, rows, width, dim = ctx.shape
        to_states = _pad(gradient.transpose(0, 1), width - dim, rows - batch)
        to_inputs, to_sums = (gates.new_empty(3, time * rows, width) for _ in range(2))
        ctx.recurrence.gru_backward(
            *_arrays(to_states.reshape(time, -1), weights, states, gates),
            width,
            *_arrays(to_inputs.view(3, time, -1), to_sums.view(3, time, -1)),
        )
        before = states[:-1].view(time * rows, width)
        to_steps = None
        if ctx.needs_input_grad[0]:
            given_slopes = to_inputs[0] @ input_weights[0]
            for gate in (1, 2):
                given_slopes.addmm_(to_inputs[gate], input_weights[gate])
            to_steps = given_slopes.view(time, rows, -1)[:, :batch].transpose(0, 1)
        to_input_weight = torch.cat([part[:, :dim].T @ given for part in to_inputs])
        to_weight = torch.cat([part[:, :dim].T @ before[:, :dim] for part in to_sums])
        to_biases = (part.sum(dim=1)[:, :dim].reshape(-1) for part in (to_inputs, to_sums))
        to_input_bias, to_bias = to_biases
        return (
            to_steps,
            to_input_weight,
            to_input_bias,
            to_weight,
            to_bias,
            None,
        )


def _padded(count: int, whole: int) -> int:
    return -(-count // whole) * whole


def _pad(tensor: Tensor, columns: int, rows: int = 0) -> Tensor:
    """With so many zeros more in the last dimension, and in the one before."""
    return functional.pad(tensor, (0, columns, 0, rows)) if columns or rows else tensor


def _arrays(*tensors: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)
