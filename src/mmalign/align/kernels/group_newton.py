"""Newton's method (:mod:`mmalign.align.kernels.newton`) on eight clips in lock-step.

Only for epsilons at which no number can leave its range, so that the kernel stays as it is and the
state are its scalings: a step is then judged by one sum over rows and one over columns, and what it
was judged by is the next state. A clip that is done takes steps of length 0, which change no bit.

Every other step takes the Hessian of the step before: that costs a third of a step and leaves a
hundredth of the error or less. Which steps do is fixed, so that it does not depend on batch-mates.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.banded import inverse_of
from mmalign.align.kernels.exponential import exponential
from mmalign.align.kernels.group import (
    clear_around,
    group_column_sums,
    group_gaps,
    group_invert,
    group_line,
    group_rescale,
    group_row_sums,
    largest_size,
    scale_by,
    vectors,
)
from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.loops import add_sliding_dot
from mmalign.align.kernels.newton import NOISE, is_lost_in_rounding
from mmalign.align.kernels.simd import LANES, everywhere, load, plus, plus_product, store
from mmalign.align.newton_rule import LONGEST, SUFFICIENT

STEPS = 30  # before a clip of a group is tried alone
BLOCK = 4  # sums of a line that walk together: each factor is read once for all of them


@compiled
@no_type_check
def group_newton(kernel, longest, window, absent, tolerance, effort, columns, taken, plan):
    """Improves ``columns``, scalings of the kernel, until the plans' columns sum to 1.

    ``taken`` are the steps of each clip, ``plan`` the scaled kernel.
    """
    _, limit, halvings = effort
    places, margin = absent.shape[0], 2 * window
    line = weight_line(window)
    weights, factors = vectors((longest + margin) * line), vectors((longest + margin) * line)
    clear_around(weights, longest, line, margin, margin, 0)
    factors[: margin * line] = 0
    inverse, step = vectors(longest), vectors(longest + 2 * margin)
    step[:] = 0
    rows, gaps = vectors(places), vectors(places)
    next_rows, next_gaps, next_columns = vectors(places), vectors(places), vectors(places)
    rows[:] = 1
    next_rows[:] = 1
    next_columns[:] = 1
    error, trial, share = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
    evaluate(kernel, longest, window, absent, columns, rows, gaps, error)
    is_active, active = error > tolerance, np.empty(LANES)
    taken[:] = 0
    for count in range(min(limit, STEPS)):
        if not is_active.any():
            break
        active[:] = is_active
        scale_by(gaps, window * LANES, active, 0, longest, step, margin * LANES)
        is_fresh = count % 2 == 0
        if is_fresh:
            group_rescale(kernel, longest, window, rows, columns, plan)
            group_eliminate(plan, longest, window, weights, factors, inverse, step)
        else:
            group_forward(longest, window, factors, step)
        group_backward(longest, window, factors, inverse, step)
        is_lost = group_search(
            kernel, longest, window, absent, step, is_active, error, halvings,
            columns, rows, gaps, next_columns, next_rows, next_gaps, trial, share,
        )  # fmt: skip
        columns, next_columns = next_columns, columns
        rows, next_rows = next_rows, rows
        gaps, next_gaps = next_gaps, gaps
        for lane in range(LANES):
            error[lane] = trial[lane]
            taken[lane] += is_active[lane]
            # An old Hessian may fail where a new one will not.
            is_stuck = is_lost[lane] and is_fresh
            is_active[lane] = is_active[lane] and not is_stuck and error[lane] > tolerance
    group_rescale(kernel, longest, window, rows, columns, plan)


@compiled
@no_type_check
def evaluate(kernel, longest, window, absent, columns, rows, gaps, error):
    """What column scalings lead to: rows scaled to sum to 1, what columns lack, and how much."""
    inner = slice(window, window + longest)
    group_row_sums(kernel, longest, window, columns, rows)
    group_invert(rows[inner], absent[inner])
    group_column_sums(kernel, longest, window, rows, gaps)
    group_gaps(gaps, columns, absent, longest, window)
    largest_size(gaps, window * LANES, longest, error)


@compiled
@no_type_check
def weight_line(window):
    """Vectors of a line of weights: what a column shares with later ones, and zeros beyond."""
    return (2 * window + BLOCK - 1) // BLOCK * BLOCK + BLOCK


@compiled
@no_type_check
def group_eliminate(plan, longest, window, weights, factors, inverse, step):
    """Eliminates diag(column sums) - plan^T plan forward, as :mod:`banded` does.

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
            inverse[j, lane] = inverse_of(pivots[lane], step[j + span, lane], NOISE)
        scale_by(weights, own, inverse, j * LANES, span, factors, own)


@inlined
@no_type_check
def laplacian_block(
    plan, i, j, walk, count,
    factors, f, weights, w, back, lines,
    o, pivots,
):  # fmt: skip
    """A block of a line of a Laplacian: from the plan, less what earlier lines eliminate.

    For b < BLOCK, and a vector of eight clips in every place,

        weights[o + 8 b] = sum over s < count of plan[i + s walk] * plan[j + s walk + 8 b]
                         + sum over s < lines of factors[f + s back] * weights[w + s back + 8 b]

    and ``pivots`` grows by all of them.
    """
    a = b = c = d = everywhere(0.0)
    for s in range(count):
        share, at = load(plan, i + s * walk), j + s * walk
        a = plus_product(a, share, load(plan, at))
        b = plus_product(b, share, load(plan, at + LANES))
        c = plus_product(c, share, load(plan, at + 2 * LANES))
        d = plus_product(d, share, load(plan, at + 3 * LANES))
    for s in range(lines):
        factor, at = load(factors, f + s * back), w + s * back
        a = plus_product(a, factor, load(weights, at))
        b = plus_product(b, factor, load(weights, at + LANES))
        c = plus_product(c, factor, load(weights, at + 2 * LANES))
        d = plus_product(d, factor, load(weights, at + 3 * LANES))
    for total in (a, b, c, d):
        store(total, weights, o)
        o += LANES
    store(plus(load(pivots, 0), plus(plus(a, b), plus(c, d))), pivots, 0)


@compiled
@no_type_check
def group_forward(longest, window, factors, step):
    """The forward half of a solution with factors that are there already."""
    line, span = weight_line(window), 2 * window
    walk = (line - 1) * LANES
    for j in range(longest):
        back = (j + span) * line * LANES - span * walk - LANES
        add_sliding_dot(factors, back, walk, step, j * LANES, LANES, span, step, (j + span) * LANES)


@compiled
@no_type_check
def group_backward(longest, window, factors, inverse, step):
    """The backward half."""
    line, span = weight_line(window), 2 * window
    for j in range(longest - 1, -1, -1):
        scale_by(step, (j + span) * LANES, inverse, j * LANES, 1, step, (j + span) * LANES)
        far = ((j + span) * line + span - 1) * LANES
        add_sliding_dot(
            factors, far, -LANES, step, (j + 2 * span) * LANES, -LANES, span,
            step, (j + span) * LANES,
        )  # fmt: skip


@compiled
@no_type_check
def group_search(
    kernel, longest, window, absent, step, is_active, error, halvings,
    columns, rows, gaps, next_columns, next_rows, next_gaps, trial, share,
):  # fmt: skip
    """Halves every clip's step until it halves the error, or the dual falls enough.

    Leaves the next state and its error, ``trial``; returns which clips no step helps: their next
    state is the old one.
    """
    is_open, is_lost = is_active.copy(), np.zeros(LANES, np.bool_)
    limit_steps(step, longest, window, is_active, share)
    for _ in range(halvings):
        scale_columns(step, longest, window, share, columns, next_columns)
        evaluate(kernel, longest, window, absent, next_columns, next_rows, next_gaps, trial)
        for lane in range(LANES):
            is_open[lane] = is_open[lane] and trial[lane] > 0.5 * error[lane]
        if is_open.any():
            judge(step, longest, window, gaps, rows, next_rows, share, is_open)
        for lane in range(LANES):
            is_rounding = is_open[lane] and is_lost_in_rounding(error[lane], trial[lane])
            is_lost[lane] = is_lost[lane] or is_rounding
            is_open[lane] = is_open[lane] and not is_rounding
            share[lane] *= 0.5 if is_open[lane] else 1.0
        if not is_open.any():
            break
    is_lost |= is_open
    if is_lost.any():
        for lane in range(LANES):
            share[lane] = 0.0 if is_lost[lane] else share[lane]
        scale_columns(step, longest, window, share, columns, next_columns)
        evaluate(kernel, longest, window, absent, next_columns, next_rows, next_gaps, trial)
    return is_lost


@compiled
@no_type_check
def limit_steps(step, longest, window, is_active, share):
    """The share of its step that each clip may take at most: 0 if it is done."""
    size = np.empty(LANES)
    largest_size(step, 2 * window * LANES, longest, size)
    for lane in range(LANES):
        share[lane] = min(1.0, LONGEST / max(size[lane], 1e-300)) if is_active[lane] else 0.0


@compiled
@no_type_check
def scale_columns(step, longest, window, share, columns, scaled):
    """scaled_j = columns_j exp(share step_j)."""
    scale_by(step, 2 * window * LANES, share, 0, longest, scaled, window * LANES)
    inner = slice(window, window + longest)
    powers, given = scaled[inner].reshape(-1), columns[inner].reshape(-1)
    exponential(powers)
    for place in range(powers.size):
        powers[place] *= given[place]


@compiled
@no_type_check
def judge(step, longest, window, gaps, rows, next_rows, share, is_open):
    """Closes the clips whose dual falls by enough of what its slope promises.

    The dual is the sum of the logarithms of the row sums, minus that of the steps. A row sum grows
    by at most exp(LONGEST), so that eight can be multiplied before the logarithm.
    """
    change, slope, product = np.zeros(LANES), np.zeros(LANES), np.ones(LANES)
    for i in range(longest):
        for lane in range(LANES):
            value = step[2 * window + i, lane] * share[lane]
            change[lane] -= value
            slope[lane] -= gaps[window + i, lane] * value
            product[lane] *= rows[window + i, lane] / next_rows[window + i, lane]
        if i % 8 == 7 or i == longest - 1:
            for lane in range(LANES):
                change[lane] += np.log(product[lane])
            product[:] = 1
    for lane in range(LANES):
        is_open[lane] = is_open[lane] and not change[lane] <= SUFFICIENT * slope[lane]
