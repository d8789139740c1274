"""Newton's method on the dual, whose Hessian is banded: O(time * window^2) a step.

With every row scaled to sum to 1, the dual is a function of the column potentials g alone,

    F(g) = sum_i log sum_j K_ij exp(g_j) - (n/m) sum_j g_j,

smooth and convex, with gradient c - n/m (c the column sums of the plan P) and Hessian
diag(c) - P^T P, the Schur complement of the full dual's, of half-bandwidth 2 * window.
A step multiplies the plan by exp(step_j) and scales the rows again: the plan is the state, so that
rounding is relative to its entries, not to potentials that grow with length / epsilon.
"""

from typing import no_type_check

import numpy as np

from mmalign.align import newton_rule
from mmalign.align.kernels.band import column_sums, lanes_of, places_of, rescale, row_sums
from mmalign.align.kernels.banded import eliminate_lines, line_of, substitute_back
from mmalign.align.kernels.exponential import exponential
from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.loops import sliding_dot
from mmalign.align.newton_rule import LONGEST

NOISE = 1e-14  # share of a column's mass that rounding may move
LINES = 32  # of the Hessian at a time

is_long_enough = compiled(newton_rule.is_long_enough)
is_lost_in_rounding = compiled(newton_rule.is_lost_in_rounding)


@compiled
@no_type_check
def newton(plan, first, n, m, window, tolerance, effort, potentials, factors):
    """Scales ``plan`` (rows summing to 1) until its columns sum to n/m; returns the steps taken.

    The logarithm of every column's scaling is added to ``potentials``; ``factors`` is room for
    ``[m, width]`` numbers; ``effort`` is that of :mod:`mmalign.align.newton_rule`.
    """
    width = plan.shape[0]
    _, limit, halvings = effort
    places = places_of(n, m, window)
    rows, columns, sums = np.zeros(places), np.zeros(places), np.zeros(places)
    step, inverse = np.empty(m), np.empty(m)
    rows[width - 1 : width - 1 + n] = 1
    column_sums(plan, first, n, m, rows, sums)
    error = column_error(sums, window, n, m)
    for taken in range(limit):
        if error <= tolerance:
            return taken
        for j in range(m):
            step[j] = n / m - sums[window + j]
        solve_hessian(plan, first, n, m, window, factors, inverse, step)
        trial = search(plan, first, n, m, window, step, sums, error, halvings, rows, columns)
        if trial == np.inf or is_lost_in_rounding(error, trial):
            return taken
        rescale(plan, first, n, m, rows, columns)
        for j in range(m):
            potentials[window + j] += step[j]
        rows[width - 1 : width - 1 + n] = 1
        column_sums(plan, first, n, m, rows, sums)
        error = column_error(sums, window, n, m)
    return limit


@compiled
@no_type_check
def search(plan, first, n, m, window, step, sums, error, halvings, rows, columns):
    """Halves ``step`` until the dual falls enough or, close to the answer, the error does.

    Leaves the scalings of the plan in ``rows`` and ``columns``; returns the error they lead to, or
    inf if no step helps.
    """
    margin = plan.shape[0] - 1
    reached = np.zeros(columns.size)
    slope, longest = 0.0, 0.0
    for j in range(m):
        slope += (sums[window + j] - n / m) * step[j]
        longest = max(longest, abs(step[j]))
    share = min(1.0, LONGEST / longest) if longest > 0 else 1.0
    step *= share
    for _ in range(halvings):
        powers = columns[window : window + m]
        powers[:] = step
        exponential(powers)
        row_sums(plan, first, n, m, columns, rows)
        change = 0.0
        for j in range(m):
            change -= n / m * step[j]
        for i in range(margin, margin + n):
            change += np.log(rows[i])
            rows[i] = 1 / rows[i]
        column_sums(plan, first, n, m, rows, reached)
        for j in range(window, window + m):
            reached[j] *= columns[j]
        trial = column_error(reached, window, n, m)
        if is_long_enough(change, share, slope, error, trial):
            return trial
        share *= 0.5
        step *= 0.5
    return np.inf


@compiled
@no_type_check
def column_error(sums, window, n, m):
    """Largest relative deviation of a column sum from n/m."""
    error = 0.0
    for j in range(window, window + m):
        error = max(error, abs(sums[j] * m / n - 1))
    return error


@compiled
@no_type_check
def solve_hessian(plan, first, n, m, window, factors, inverse, step):
    """Solves (diag(column sums) - plan^T plan) x = step in place.

    The matrix is only ever there in part: LINES lines are assembled and eliminated while they are
    in the cache. For 65,536 steps a whole one would be 24 MiB, written and read at every step.
    """
    width = plan.shape[0]
    margin = width - 1
    weights = np.zeros((margin + LINES, line_of(width)))
    diagonals = np.empty((width, LINES + 16))
    row = 0
    for start in range(0, m, LINES):
        stop = min(m, start + LINES)
        weights[:margin] = weights[LINES:]
        weights[margin:] = 0
        if n == m:
            assemble_square(plan, window, start, stop, diagonals, weights)
        else:
            row = assemble_slanted(plan, first, row, window, start, stop, weights)
        noise = NOISE * n / m
        eliminate_lines(weights, start, stop, width, noise, factors, inverse, step)
    substitute_back(width, factors, inverse, step)


@compiled
@no_type_check
def assemble_square(plan, window, start, stop, diagonals, weights):
    """weights[2 window + j - start, d] = entry (j, j + d) of plan^T plan, for d >= 1."""
    width, stride = plan.shape
    lanes = lanes_of(plan)
    low = (window + start) // lanes * lanes
    for d in range(1, width):
        # Column j meets row j - k on diagonal k, and column j + d the same row on k + d.
        for j in range(low, window + stop, lanes):
            sliding_dot(
                plan, j, stride - 1, plan, d * stride + j, stride - 1, width - d,
                diagonals, d * diagonals.shape[1] + j - low,
            )  # fmt: skip
    for j in range(stop - start):
        for d in range(1, width):
            weights[width - 1 + j, d] = diagonals[d, window + start - low + j]


@compiled
@no_type_check
def assemble_slanted(plan, first, row, window, start, stop, weights):
    """The same for lengths that differ; returns the first row that reaches beyond ``stop``.

    ``row`` is the first that reaches ``start``.
    """
    width = plan.shape[0]
    following = row
    for i in range(row, first.size):
        column = first[i] - window  # of entry 0
        if column >= stop:
            break
        if column + width <= stop:
            following = i + 1
        for k in range(max(0, start - column), min(width, stop - column)):
            for d in range(1, width - k):
                weights[width - 1 + column + k - start, d] += plan[k, i] * plan[k + d, i]
    return following
