"""A batch of alignment problems, clip after clip."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.band import (
    column_sums,
    first_places,
    in_vectors,
    lanes_of,
    places_of,
    rescale,
    row_sums,
    stride_of,
)
from mmalign.align.kernels.cost import cosine_scores, line_of
from mmalign.align.kernels.group import (
    ENTRIES,
    clear_around,
    group_error,
    group_kernel,
    group_line,
    group_store,
    group_warm_up,
    vectors,
)
from mmalign.align.kernels.group_newton import group_newton
from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.newton import newton
from mmalign.align.kernels.simd import LANES, transpose
from mmalign.align.kernels.sinkhorn import (
    kernel_of,
    log_plan,
    scaling_plan,
    scaling_sinkhorn,
    softmax_rows,
)
from mmalign.align.newton_rule import ANNEAL_FROM, ANNEAL_UNTIL

# Rows whose cost is computed at a time, so that they stay in the cache, however long the clip.
# Each chunk reads its window again: hardly felt beside Newton, which can take smaller buffers.
SINKHORN_ROWS = 256
NEWTON_ROWS = 32


@compiled
@no_type_check
def sinkhorn_batch(source, target, lengths, target_lengths, settings, mass, counts, errors):
    """Exactly ``iterations`` Sinkhorn iterations for every clip, in the dtype of ``mass``.

    ``settings`` is (window, epsilon, iterations). Returns 2 * clip + side
    for the first clip whose source (side 0) or target (side 1) is not finite, or -1.
    """
    window, epsilon, iterations = settings
    for clip in range(mass.shape[0]):
        n, m = lengths[clip], target_lengths[clip]
        first = np.empty(n, np.int64)
        first_places(n, m, window, first)
        shape = (2 * window + 1, stride_of(n, window))
        plan = np.empty(shape, mass.dtype)
        x, y = source[clip], target[clip]
        side = band_scores(x, y, n, m, window, first, epsilon, SINKHORN_ROWS, plan)
        if side > 0:
            return 2 * clip + side - 1
        counts[clip] = iterations
        deepest = 600 if mass.itemsize == 8 else 60
        if 2 / epsilon < deepest and scaling_plan(plan, first, n, m, window, iterations):
            errors[clip] = store(plan, first, n, m, window, mass[clip])
            continue
        precise = np.empty(shape, np.float64)
        band_scores(x, y, n, m, window, first, epsilon, SINKHORN_ROWS, precise)
        log_plan(precise, first, n, m, window, iterations)
        errors[clip] = store(precise, first, n, m, window, mass[clip])
    return -1


@compiled
@no_type_check
def band_scores(source, target, n, m, window, first, epsilon, chunk, scores):
    """Fills a band with -cost / epsilon, a chunk of rows at a time; returns as cosine_scores."""
    width, lanes = scores.shape[0], lanes_of(scores)
    scores[:, n:] = -np.inf
    rows = np.empty((min(chunk, in_vectors(n)), line_of(width, lanes)), scores.dtype)
    for start in range(0, n, chunk):
        side = cosine_scores(source, target, n, m, window, first, epsilon, start, rows)
        if side > 0:
            return side
        transpose_rows(rows, min(chunk, n - start), scores, start)
    return 0


@compiled
@no_type_check
def transpose_rows(rows, count, band, start):
    """Row i becomes column start + i of a band that is kept diagonal by diagonal."""
    width, stride = band.shape
    line, lanes = rows.shape[1], lanes_of(band)
    rest = np.empty((lanes, lanes), band.dtype)
    for i in range(0, count, lanes):
        for k in range(0, width - lanes + 1, lanes):
            transpose(rows, i * line + k, line, band, k * stride + start + i, stride)
        if width % lanes:
            k = width // lanes * lanes
            transpose(rows, i * line + k, line, rest, 0, lanes)
            band[k:, start + i : start + i + lanes] = rest[: width - k]


@no_type_check
def groupable(lengths, target_lengths, window, epsilon):
    """The clips that :func:`tolerance_groups` takes, the longest first; each is on its own merits.

    In Python, so that the kernels of either path are compiled only once they are needed.
    """
    if epsilon < ANNEAL_FROM:
        return np.empty(0, np.int64)
    fits = (lengths == target_lengths) & (lengths * (2 * window + 1) <= ENTRIES)
    chosen = np.flatnonzero(fits)
    return chosen[np.argsort(-lengths[chosen], kind="stable")]


@compiled
@no_type_check
def tolerance_groups(source, target, lengths, order, settings, mass, counts, errors, is_done):
    """Clips of equal lengths until their marginals are within ``tolerance``, eight at a time.

    ``settings`` is (window, epsilons, tolerance, effort), with epsilons and effort of
    :mod:`mmalign.align.newton_rule`; ``order`` lists the clips to take, the longest
    first, so that those of a group have about one length. Sets ``is_done`` for those that
    converged; the others are left to :func:`tolerance_batch`.
    """
    window, epsilons, tolerance, effort = settings
    tolerance -= rounding_of(mass)
    members = np.full(LANES, -1)
    for start in range(0, order.size, LANES):
        for lane in range(LANES):
            members[lane] = order[start + lane] if start + lane < order.size else -1
        solve_group(
            source, target, lengths, members, window, epsilons[0], tolerance, effort,
            mass, counts, errors, is_done,
        )  # fmt: skip


@compiled
@no_type_check
def tolerance_batch(
    source, target, lengths, target_lengths, settings, mass, counts, errors, is_done, room
):
    """Every clip that is not done until its marginals are within ``tolerance``, in float64.

    ``settings`` is as in :func:`tolerance_groups`. ``room`` is ``[clips, time, width]`` to work in,
    or one such place for all clips: it may be ``mass``, which is written last. Returns as
    :func:`sinkhorn_batch`.
    """
    window, epsilons, tolerance, effort = settings
    tolerance -= rounding_of(mass)
    for clip in range(mass.shape[0]):
        if is_done[clip]:
            continue
        n, m = lengths[clip], target_lengths[clip]
        first = np.empty(n, np.int64)
        first_places(n, m, window, first)
        scores = np.empty((2 * window + 1, stride_of(n, window)), np.float64)
        x, y = source[clip], target[clip]
        side = band_scores(x, y, n, m, window, first, epsilons[-1], NEWTON_ROWS, scores)
        if side > 0:
            return 2 * clip + side - 1
        factors = room[min(clip, room.shape[0] - 1)]
        counts[clip] = annealed_newton(
            scores, first, n, m, window, epsilons, tolerance, effort, factors
        )
        errors[clip] = store(scores, first, n, m, window, mass[clip])
    return -1


@compiled
@no_type_check
def solve_group(
    source, target, lengths, members, window, epsilon, tolerance, effort,
    mass, counts, errors, is_done,
):  # fmt: skip
    """Up to eight clips in lock-step, the longest first; -1 where there is no member.

    Those that are not finite or did not converge are not done, and will be tried alone.
    """
    longest = lengths[members[0]]
    places = longest + 2 * window
    kernel, plan = vectors(places * group_line(window)), vectors(places * group_line(window))
    absent, columns = vectors(places), vectors(places)
    if not group_kernel(source, target, lengths, members, window, epsilon, kernel, absent):
        return
    clear_around(plan, longest, group_line(window), 2 * window + 1, window, window)
    taken, error = np.zeros(LANES, np.int64), np.zeros(LANES)
    group_warm_up(kernel, longest, window, absent, effort[0], columns)
    group_newton(kernel, longest, window, absent, tolerance, effort, columns, taken, plan)
    group_error(plan, absent, longest, window, error)
    group_store(plan, lengths, members, window, mass)
    for lane in range(LANES):
        clip = members[lane]
        if clip >= 0:
            counts[clip] = effort[0] + taken[lane]
            errors[clip] = error[lane] + rounding_of(mass)
            is_done[clip] = error[lane] <= tolerance


@compiled
@no_type_check
def annealed_newton(scores, first, n, m, window, epsilons, tolerance, effort, factors):
    """Warm-up by Sinkhorn, then Newton, through all epsilons; the scores are those of the last.

    Scores become the plan; returns the sweeps.
    """
    potentials = np.zeros(places_of(n, m, window))
    current, epsilon, sweeps = epsilons[0], epsilons[-1], effort[0]
    plan = scores if current == epsilon else scores * (epsilon / current)
    warm_up(plan, first, n, m, window, sweeps, potentials)
    for level in range(epsilons.size):
        if level > 0:
            potentials *= current / epsilons[level]
            current = epsilons[level]
            softmax_rows(scores, first, n, epsilon / current, potentials, plan)
        goal = tolerance if current == epsilon else ANNEAL_UNTIL
        sweeps += newton(plan, first, n, m, window, goal, effort, potentials, factors)
    if epsilons.size > 1:
        scores[:] = plan
    return sweeps


@compiled
@no_type_check
def warm_up(scores, first, n, m, window, sweeps, potentials):
    """Scores become a plan with exact rows and better columns; potentials say how."""
    kernel_of(scores)
    rows, columns = np.zeros(potentials.size), np.zeros(potentials.size)
    scaling_sinkhorn(scores, first, n, m, window, sweeps, rows, columns)
    row_sums(scores, first, n, m, columns, rows)
    margin = scores.shape[0] - 1
    for i in range(margin, margin + n):
        rows[i] = 1 / rows[i]
    rescale(scores, first, n, m, rows, columns)
    for j in range(window, window + m):
        potentials[j] = np.log(columns[j])


@compiled
@no_type_check
def store(plan, first, n, m, window, mass):
    """Copies a plan to its place in the batch; returns its marginal error."""
    width = plan.shape[0]
    for i in range(n):
        for k in range(width):
            mass[i, k] = plan[k, i]
    mass[n:] = 0
    places = places_of(n, m, window)
    ones, rows = np.ones(places, plan.dtype), np.zeros(places, plan.dtype)
    sums = np.empty(places, plan.dtype)
    row_sums(plan, first, n, m, ones, rows)
    error = 0.0
    for i in range(width - 1, width - 1 + n):
        error = max(error, abs(rows[i] - 1))
    column_sums(plan, first, n, m, ones, sums)
    for j in range(window, window + m):
        error = max(error, abs(sums[j] * m / n - 1))
    return error if mass.itemsize == plan.itemsize else error + rounding_of(mass)


@compiled
@no_type_check
def rounding_of(mass):
    """How far a marginal can move when a float64 plan is rounded to this dtype."""
    return 0.0 if mass.itemsize == 8 else 2.0**-24
