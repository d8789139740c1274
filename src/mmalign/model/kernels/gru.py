"""The recurrence of a GRU, forward and backward, over a whole batch and all of time.

A step is three small products of matrices and a few loops; what takes long in torch is going there
and back for each of them. Everything is flat: a state is ``[size]``, the units of all clips one
after the other, ``width`` numbers a clip, units padded to whole vectors. What is padding stays 0.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import lanes_of
from mmalign.align.kernels.exponential import exponential
from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.loops import TILE, eliminate, tile_products
from mmalign.align.kernels.simd import everywhere, store

STEEPEST = 80.0  # beyond, a sigmoid is 0 or 1 in either dtype


@compiled
@no_type_check
def gru_forward(inputs, weights, bias, width, states, gates):
    """Fills ``states`` ``[time + 1, size]``, from zeros on, and ``gates`` for the way back.

        r = sigmoid(x_r + h W_r + b_r),  z = sigmoid(x_z + h W_z + b_z)
        n = tanh(x_n + r (h W_n + b_n)),  h' = n + z (h - n)

    ``inputs`` is ``[3, time, size]``: x_r, x_z and x_n. ``weights`` is ``[3, width, width]``, with
    a line for each unit of h; ``bias`` is ``[3, size]``. ``gates`` is ``[4, time, size]``: r, z, n
    and h W_n + b_n.
    """
    _, time, size = inputs.shape
    sums = np.empty((3, size), inputs.dtype)
    powers = np.empty(size)
    states[0] = 0
    for t in range(time):
        for gate in range(3):
            multiply(states[t], weights[gate], width, sums[gate])
            add(bias[gate], sums[gate])
        for gate in range(2):
            opened = gates[gate, t]
            add(inputs[gate, t], sums[gate])
            sigmoid(sums[gate], powers, opened)
        recall, kept = gates[3, t], sums[2]
        for k in range(size):
            recall[k] = kept[k]
        reset, new, given = gates[0, t], gates[2, t], inputs[2, t]
        for k in range(size):
            new[k] = given[k] + reset[k] * kept[k]
        tanh(new, powers)
        update, before, after = gates[1, t], states[t], states[t + 1]
        for k in range(size):
            after[k] = new[k] + update[k] * (before[k] - new[k])


@compiled
@no_type_check
def gru_backward(gradient, weights, states, gates, width, to_inputs, to_sums):
    """From the gradient of each state ``[time, size]`` to those of the inputs and of h W + b.

    ``weights`` is ``[3, width, width]`` with a line for each unit of the gate. ``to_inputs`` and
    ``to_sums`` are ``[3, time, size]``; they differ in n, which the reset gate scales.
    """
    time, size = gradient.shape
    carried, product = np.zeros(size, gradient.dtype), np.empty(size, gradient.dtype)
    for t in range(time - 1, -1, -1):
        add(gradient[t], carried)
        step_back(carried, states, gates, t, to_inputs, to_sums)
        update = gates[1, t]
        for k in range(size):
            carried[k] *= update[k]
        for gate in range(3):
            multiply(to_sums[gate, t], weights[gate], width, product)
            add(product, carried)


@compiled
@no_type_check
def step_back(gradient, states, gates, t, to_inputs, to_sums):
    """Step t: how its sums should change, from how its state should."""
    reset, update, new, recall = gates[0, t], gates[1, t], gates[2, t], gates[3, t]
    before, to_new, scaled = states[t], to_inputs[2, t], to_sums[2, t]
    for k in range(gradient.size):
        to_new[k] = gradient[k] * (1 - update[k]) * (1 - new[k] * new[k])
    for k in range(gradient.size):
        scaled[k] = to_new[k] * reset[k]
    to_update, to_reset = to_inputs[1, t], to_inputs[0, t]
    for k in range(gradient.size):
        to_update[k] = gradient[k] * (before[k] - new[k])
    for k in range(gradient.size):
        to_update[k] *= update[k] * (1 - update[k])
    for k in range(gradient.size):
        to_reset[k] = scaled[k] * recall[k] * (1 - reset[k])
    for gate in range(2):
        given, taken = to_inputs[gate, t], to_sums[gate, t]
        for k in range(gradient.size):
            taken[k] = given[k]


@compiled
@no_type_check
def multiply(rows, weights, width, out):
    """Writes rows times weights, a tile of rows and a vector of columns at a time.

    Rows that make no whole tile go one by one, to the same bits.
    """
    lanes, nought = lanes_of(rows), rows.dtype.type(0)
    whole = rows.size - rows.size % (TILE * width)
    for row in range(0, whole, TILE * width):
        for lane in range(0, width, lanes):
            tile_products(
                rows, row, width, weights, lane, width, width, nought, out, row + lane, width
            )
    for row in range(whole, rows.size, width):
        for lane in range(0, width, lanes):
            store(everywhere(nought), out, row + lane)
            eliminate(rows, row, 1, weights, lane, width, width, out, row + lane)


@compiled
@no_type_check
def add(given, total):
    """The total grows by what is given."""
    for k in range(total.size):
        total[k] += given[k]


@compiled
@no_type_check
def sigmoid(sums, powers, out):
    """Writes 1 / (1 + exp(-sums)); NaN stays NaN. ``powers`` is room in float64."""
    for k in range(sums.size):
        powers[k] = -min(max(np.float64(sums[k]), -STEEPEST), STEEPEST)
    exponential(powers)
    for k in range(sums.size):
        out[k] = 1 / (1 + powers[k]) if sums[k] == sums[k] else sums[k]


@compiled
@no_type_check
def tanh(values, powers):
    """Values become 2 / (1 + exp(-2 values)) - 1; NaN stays NaN."""
    for k in range(values.size):
        powers[k] = -2 * min(max(np.float64(values[k]), -STEEPEST), STEEPEST)
    exponential(powers)
    for k in range(values.size):
        values[k] = 2 / (1 + powers[k]) - 1 if values[k] == values[k] else values[k]
