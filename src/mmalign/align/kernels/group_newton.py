"""Newton's method (:mod:`mmalign.align.kernels.newton`) on eight clips in lock-step.

Every other step takes the Hessian of the step before: that costs a fifth of a step and leaves a
hundredth of the error or less. Which steps do is fixed, so that it does not depend on batch-mates.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.exponential import exponential
from mmalign.align.kernels.group import (
    LANES,
    group_column_sums,
    group_error,
    group_invert,
    group_line,
    group_rescale,
    group_row_sums,
    vectors,
)
from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.newton import CLOSE, HALVINGS, LONGEST, NOISE, SUFFICIENT
from mmalign.align.kernels.simd import BLOCK, add_sliding_dot, laplacian_block


@compiled
@no_type_check
def group_newton(plan, longest, window, absent, tolerance, limit, rows, columns, taken, error):
    """Scales plans (rows summing to 1) until columns do.

    ``taken`` are the steps of each clip; ``error`` is the marginal error that is left.
    """
    line = weight_line(window)
    margin = 2 * window
    weights, factors = vectors((longest + margin) * line), vectors((longest + margin) * line)
    weights[:] = 0
    factors[:] = 0
    inverse, step = vectors(longest), vectors(longest + 2 * margin)
    step[:] = 0
    sums, trial = vectors(columns.shape[0]), np.zeros(LANES)
    is_active = np.zeros(LANES, np.bool_)
    taken[:] = 0
    rows[:] = 1
    group_column_sums(plan, longest, window, rows, sums)
    group_error(sums, absent, longest, window, error)
    for lane in range(LANES):
        is_active[lane] = error[lane] > tolerance
    for count in range(limit):
        if not is_active.any():
            break
        for j in range(longest):
            for lane in range(LANES):
                gap = 1 - absent[window + j, lane] - sums[window + j, lane]
                step[margin + j, lane] = gap if is_active[lane] else 0.0
        is_fresh = count % 2 == 0
        if is_fresh:
            group_eliminate(plan, longest, window, weights, factors, inverse, step)
        else:
            group_forward(longest, window, factors, step)
        group_backward(longest, window, factors, inverse, step)
        group_search(
            plan, longest, window, absent, step, sums, error, is_active, rows, columns, trial
        )
        for lane in range(LANES):
            is_lost = trial[lane] == np.inf
            is_rounding = trial[lane] >= error[lane] and error[lane] < 1e-9
            if not is_active[lane] or is_lost or is_rounding:
                rows[:, lane] = 1
                columns[:, lane] = 1
                is_active[lane] = is_active[lane] and not is_fresh
            taken[lane] += is_active[lane]
        group_rescale(plan, longest, window, rows, columns)
        rows[:] = 1
        group_column_sums(plan, longest, window, rows, sums)
        group_error(sums, absent, longest, window, error)
        for lane in range(LANES):
            is_active[lane] = is_active[lane] and error[lane] > tolerance
    columns[:] = 1
    group_row_sums(plan, longest, window, columns, rows)
    group_error(rows, absent, longest, window, trial)
    for lane in range(LANES):
        error[lane] = max(error[lane], trial[lane])


@compiled
@no_type_check
def weight_line(window):
    """Vectors of a line of weights: what a column shares with later ones, and zeros beyond."""
    return (2 * window + BLOCK - 1) // BLOCK * BLOCK + BLOCK


@compiled
@no_type_check
def group_eliminate(plan, longest, window, weights, factors, inverse, step):
    """Eliminates diag(column sums) - plan^T plan forward, as :func:`banded.solve_laplacian` does.

    ``weights[j, d - 1]`` is what column j still shares with column j + d: minus the entry of the
    matrix. It is summed from the plan and from earlier lines in one go, in registers.
    """
    line, plan_line, span = weight_line(window), group_line(window), 2 * window
    walk, plan_walk = (line - 1) * LANES, -(plan_line - 1) * LANES
    pivots = np.empty(LANES)
    for j in range(longest):
        at, own = (j + span) * plan_line * LANES, (j + span) * line * LANES
        pivots[:] = 0
        for d in range(1, span + 1, BLOCK):
            count = span - d  # earlier lines that share with column j + d, the farthest first
            back = own - count * walk
            laplacian_block(
                plan, at, at + d * LANES, plan_walk, span + 1 - d,
                factors, back - LANES, weights, back + (d - 1) * LANES, walk, count,
                own + (d - 1) * LANES, pivots,
            )  # fmt: skip
        add_sliding_dot(
            factors, own - span * walk - LANES, walk, step, j * LANES, LANES, span,
            step, (j + span) * LANES,
        )  # fmt: skip
        for lane in range(LANES):
            pivot, value = pivots[lane], abs(step[span + j, lane])
            is_alone = (pivot <= NOISE) & (value <= NOISE) | (pivot == 0)
            inverse[j, lane] = 0.0 if is_alone else 1 / pivot
        for d in range(span):
            for lane in range(LANES):
                place = (j + span) * line + d
                factors[place, lane] = weights[place, lane] * inverse[j, lane]


@compiled
@no_type_check
def group_forward(longest, window, factors, step):
    """The forward half of a solution with factors that are there already."""
    line, span = weight_line(window), 2 * window
    walk = (line - 1) * LANES
    for j in range(longest):
        back = (j + span) * line * LANES - span * walk - LANES
        add_sliding_dot(
            factors, back, walk, step, j * LANES, LANES, span, step, (j + span) * LANES
        )


@compiled
@no_type_check
def group_backward(longest, window, factors, inverse, step):
    """The backward half."""
    line, span = weight_line(window), 2 * window
    for j in range(longest - 1, -1, -1):
        for lane in range(LANES):
            step[span + j, lane] *= inverse[j, lane]
        far = ((j + span) * line + span - 1) * LANES
        add_sliding_dot(
            factors, far, -LANES, step, (j + 2 * span) * LANES, -LANES, span,
            step, (j + span) * LANES,
        )  # fmt: skip


@compiled
@no_type_check
def group_search(
    plan, longest, window, absent, step, sums, error, is_active, rows, columns, trial
):
    """Halves every clip's step until its dual falls enough or, close to the answer, its error does.

    Leaves the scalings of the plans in ``rows`` and ``columns``; ``trial`` is the error they lead
    to, or inf if no step helps.
    """
    inner = slice(window, window + longest)
    span = 2 * window
    reached = vectors(columns.shape[0])
    slope, longest_step, total = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    share, change = np.zeros(LANES), np.zeros(LANES)
    for j in range(longest):
        for lane in range(LANES):
            value = step[span + j, lane]
            slope[lane] += (sums[window + j, lane] + absent[window + j, lane] - 1) * value
            total[lane] += value
            longest_step[lane] = max(longest_step[lane], abs(value))
    is_open = is_active.copy()
    for lane in range(LANES):
        share[lane] = 1.0 if is_open[lane] else 0.0
        if longest_step[lane] > LONGEST:
            share[lane] = LONGEST / longest_step[lane]
    for _ in range(HALVINGS):
        for j in range(longest):
            for lane in range(LANES):
                columns[window + j, lane] = step[span + j, lane] * share[lane]
        exponential(columns[inner].reshape(-1))
        group_row_sums(plan, longest, window, columns, rows)
        add_logarithms(rows, absent, longest, window, change)
        group_invert(rows[inner], absent[inner])
        group_column_sums(plan, longest, window, rows, reached)
        for j in range(window, window + longest):
            for lane in range(LANES):
                reached[j, lane] *= columns[j, lane]
        group_error(reached, absent, longest, window, trial)
        for lane in range(LANES):
            if is_open[lane]:
                fall = change[lane] - total[lane] * share[lane]
                is_enough = fall <= SUFFICIENT * share[lane] * slope[lane]
                is_halved = error[lane] < CLOSE and trial[lane] <= 0.5 * error[lane]
                is_open[lane] = not (is_enough or is_halved)
                share[lane] *= 0.5 if is_open[lane] else 1.0
        if not is_open.any():
            return
    for lane in range(LANES):
        trial[lane] = np.inf if is_open[lane] else trial[lane]


@compiled
@no_type_check
def add_logarithms(rows, absent, longest, window, change):
    """The sum of the logarithms of every clip's row sums.

    They lie within exp(-LONGEST) .. exp(LONGEST), so that eight can be multiplied first.
    """
    change[:] = 0
    product = np.ones(LANES)
    for i in range(longest):
        for lane in range(LANES):
            product[lane] *= rows[window + i, lane] + absent[window + i, lane]
        if i % 8 == 7 or i == longest - 1:
            for lane in range(LANES):
                change[lane] += np.log(product[lane])
            product[:] = 1
