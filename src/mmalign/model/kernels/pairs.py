"""From the rows of a visible modality to those that stand in for its victim, and back.

Rows of a clip begin at ``starts[c]``, [CLS] first; ``dim`` is a multiple of 16. Plans have a row
for each row of the source, of which those of [CLS] are not used.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import in_vectors
from mmalign.align.kernels.carry import ends_of_rows
from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.simd import everywhere, load, plus, plus_product, store, times
from mmalign.align.kernels.tiled import LANES, once, side_by_side, sum_products
from mmalign.model.kernels.attention import CLOSED, longest_of, soften
from mmalign.model.kernels.products import linear_size, tanh_of_lanes
from mmalign.model.kernels.training import SPARE

EMPTY = np.finfo(np.float32).tiny


@compiled
@no_type_check
def place_rows(x, starts, table, jump, dim, out):
    """Fills ``out`` with rows and their positions, ``jump`` numbers further on in each clip."""
    for clip in range(len(starts) - 1):
        first, count = starts[clip] * dim, (starts[clip + 1] - starts[clip]) * dim
        for k in range(count):
            out[first + k] = x[first + k] + table[clip * jump + k]


@compiled
@no_type_check
def take_heads(x, starts, dim, heads):
    """Fills ``heads`` with the first row of each clip."""
    for clip in range(len(starts) - 1):
        for k in range(dim):
            heads[clip * dim + k] = x[starts[clip] * dim + k]


@compiled
@no_type_check
def add_heads(heads, starts, dim, x):
    """Adds to the first row of each clip."""
    for clip in range(len(starts) - 1):
        for k in range(dim):
            x[starts[clip] * dim + k] += heads[clip * dim + k]


@compiled
@no_type_check
def plan_room(starts, dim):
    """Numbers that `plan_rows` needs for a while."""
    return (starts[-1] + SPARE) * 5 * dim


@compiled
@no_type_check
def plan_rows(x, starts, targets, dim, window, weights, space, plans):
    """Fills ``plans`` inside the band with what the fitter says; zeros outside.

    Rows of plans are filled up to whole vectors. All clips take a step of the recurrence at once.
    Weights: of each direction the input and the recurrent part of a GRU, then the projection; with
    a line for each input.
    """
    rows, gates, line = starts[-1], 3 * dim, in_vectors(2 * window + 1)
    room = (rows + SPARE) * dim
    given, states = space[: 3 * room], space[3 * room :]
    at, whole = 0, side_by_side(gates)
    for direction in range(2):
        bias = at + dim * gates
        sum_products(
            *(x, 0, dim, 1, weights, at, gates, once(dim), whole),
            *(weights, bias, 0, given, 0, gates, rows),
        )
        at += linear_size(dim, gates)
        recur_together(given, starts, dim, direction == 1, weights, at, states)
        at += linear_size(dim, gates)
    sum_products(
        *(states, 0, 2 * dim, 1, weights, at, line, once(2 * dim), side_by_side(line)),
        *(weights, at + 2 * dim * line, 0, plans, 0, line, rows),
    )
    most = longest_of(starts)
    first, start, stop = np.empty((3, most), np.int64)
    for clip in range(len(starts) - 1):
        above, time = starts[clip] + 1, starts[clip + 1] - starts[clip] - 1
        ends_of_rows(time, targets[clip + 1] - targets[clip] - 1, window, first, start, stop)
        for i in range(time):
            row = (above + i) * line
            plans[row : row + start[i]] = CLOSED
            plans[row + stop[i] : row + line] = CLOSED
            soften(plans, row, line)


@compiled
@no_type_check
def recur_together(given, starts, dim, is_back, weights, at, states):
    """Writes the states of a GRU into its half of ``states``, forwards or backwards in time.

    ``given`` has a row of what each step adds to the gates r, z and n. Clips that are as long or
    longer come first, so that those that still run are the first ones.
    """
    clips, gates = len(starts) - 1, 3 * dim
    order = np.argsort(starts[:-1] - starts[1:], kind="mergesort")
    state = np.zeros((clips + SPARE) * dim, np.float32)
    sums = np.empty((clips + SPARE) * gates, np.float32)
    vectors, turns, bias = side_by_side(gates), once(dim), at + dim * gates
    half, running = dim if is_back else 0, clips
    for step in range(starts[order[0] + 1] - starts[order[0]] - 1):
        while starts[order[running - 1] + 1] - starts[order[running - 1]] - 1 <= step:
            running -= 1
        sum_products(
            *(state, 0, dim, 1, weights, at, gates, turns, vectors),
            *(weights, bias, 0, sums, 0, gates, running),
        )
        for place in range(running):
            clip = order[place]
            row = starts[clip + 1] - 1 - step if is_back else starts[clip] + 1 + step
            out, old = row * 2 * dim + half, place * dim
            new_state(given, row * gates, sums, place * gates, dim, state, old, states, out)


@inlined
@no_type_check
def new_state(given, row, sums, at, dim, state, old, states, out):
    """One step of one clip: gates r and z open, the new state is written twice."""
    for k in range(0, dim, LANES):
        recall = opened(plus(load(given, row + k), load(sums, at + k)))
        kept = opened(plus(load(given, row + dim + k), load(sums, at + dim + k)))
        new = plus_product(load(given, row + 2 * dim + k), recall, load(sums, at + 2 * dim + k))
        new = tanh_of_lanes(new)
        past = plus(load(state, old + k), times(new, everywhere(np.float32(-1))))
        new = plus_product(new, kept, past)
        store(new, state, old + k)
        store(new, states, out + k)


@inlined
@no_type_check
def opened(vector):
    """A sigmoid, as a hyperbolic tangent."""
    half = everywhere(np.float32(0.5))
    return plus_product(half, tanh_of_lanes(times(vector, half)), half)


@compiled
@no_type_check
def impute_rows(x, starts, targets, plans, window, cls, dim, totals, out):
    """Fills ``out``: [CLS], and source steps carried through each plan.

    ``totals`` keeps how much each row gets, for the way back.
    """
    line, most = in_vectors(2 * window + 1), longest_of(starts)
    first, start, stop = np.empty((3, most), np.int64)
    out[: targets[-1] * dim] = 0
    totals[: targets[-1]] = 0
    for clip in range(len(starts) - 1):
        above, to = starts[clip] + 1, targets[clip] + 1
        time, goal = starts[clip + 1] - above, targets[clip + 1] - to
        out[(to - 1) * dim : to * dim] = cls
        ends_of_rows(time, goal, window, first, start, stop)
        for i in range(time):
            for entry in range(start[i], stop[i]):
                j, mass = to + first[i] + entry - window, plans[(above + i) * line + entry]
                totals[j] += mass
                add_row(x, (above + i) * dim, mass, dim, out, j * dim)
        for j in range(to, to + goal):
            share = everywhere(share_of_column(totals[j]))
            for k in range(j * dim, (j + 1) * dim, LANES):
                store(times(load(out, k), share), out, k)


@compiled
@no_type_check
def impute_rows_back(slopes, starts, targets, plans, window, dim, totals, to_x):
    """Adds to the slopes of the source; the plans carry none (design E11)."""
    line, most = in_vectors(2 * window + 1), longest_of(starts)
    first, start, stop = np.empty((3, most), np.int64)
    for clip in range(len(starts) - 1):
        above, to = starts[clip] + 1, targets[clip] + 1
        time, goal = starts[clip + 1] - above, targets[clip + 1] - to
        ends_of_rows(time, goal, window, first, start, stop)
        for i in range(time):
            for entry in range(start[i], stop[i]):
                j = to + first[i] + entry - window
                mass = plans[(above + i) * line + entry] * share_of_column(totals[j])
                add_row(slopes, j * dim, mass, dim, to_x, (above + i) * dim)


@inlined
@no_type_check
def share_of_column(total):
    """What a column is divided by; nothing is carried to one without mass."""
    return np.float32(0) if total < EMPTY else np.float32(1) / total


@inlined
@no_type_check
def add_row(rows, row, factor, dim, out, o):
    """Adds a row times a factor."""
    vector = everywhere(factor)
    for k in range(0, dim, LANES):
        store(plus_product(load(out, o + k), load(rows, row + k), vector), out, o + k)
