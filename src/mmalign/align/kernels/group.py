"""Eight clips side by side: every vector holds the same place of eight clips, a clip a lane.

What makes Newton's steps slow for one clip is waiting: each line of the elimination needs the one
before. Eight clips wait no longer than one. No lane ever looks at another, so batch-mates cannot
change a bit of an answer. Only clips of equal lengths are grouped, and only while a group fits the
cache; whether a clip is depends on that clip alone, so it has the same bits in every company.

Everything is ``[places, lanes]`` or ``[rows, line, lanes]``. Rows and columns start ``window``
places late: entry ``k`` of row ``i`` is ``plan[window + i, k]`` and meets column place ``i + k``.
Shorter clips end in zeros; ``absent`` is 1 there, to keep their sums from 0.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.cost import cosine_scores, line_of
from mmalign.align.kernels.exponential import exponential
from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.loops import sliding_dot
from mmalign.align.kernels.simd import LANES, everywhere, larger_size, load, store, times, transpose

ENTRIES = 4096  # of a clip: three bands of a group then take 1 MiB, a common second-level cache


@compiled
@no_type_check
def vectors(count):
    """Uninitialised ``[count, LANES]`` numbers that start at a vector's boundary."""
    raw = np.empty((count + 1) * LANES)
    start = -(raw.ctypes.data // raw.itemsize) % LANES
    return raw[start : start + count * LANES].reshape(count, LANES)


@compiled
@no_type_check
def group_line(window):
    """Vectors of a row of a group's plan: entries, and zeros to read beyond them."""
    return line_of(2 * window + 1, LANES)


@compiled
@no_type_check
def group_kernel(source, target, lengths, members, window, epsilon, plan, absent):
    """Fills ``plan`` with the members' exp(-cost / epsilon), and ``absent``.

    Returns whether all members are finite.
    """
    line = group_line(window)
    longest, width = lengths[members[0]], 2 * window + 1
    first = np.arange(longest)
    scores = np.empty((LANES, (longest + 15) // 16 * 16, line))
    for lane in range(LANES):
        clip = members[lane]
        n = lengths[clip] if clip >= 0 else 0
        if n > 0:
            x, y = source[clip], target[clip]
            if cosine_scores(x, y, n, n, window, first, epsilon, 0, scores[lane]) > 0:
                return False
        for i in range(n, longest):
            for k in range(width):
                scores[lane, i, k] = -np.inf
        for place in range(absent.shape[0]):
            absent[place, lane] = place < window or place >= window + n
    stride = scores.shape[1] * line
    flat = plan.reshape(-1)
    for i in range(longest):
        place = (window + i) * line
        for k in range(0, line, LANES):
            transpose(scores, i * line + k, stride, plan, (place + k) * LANES, LANES)
        exponential(flat[place * LANES : (place + width) * LANES])
    clear_around(plan, longest, line, width, window, window)
    return True


@compiled
@no_type_check
def clear_around(lines, count, line, width, before, after):
    """Zeros around what is there: behind every line, and in whole lines before and after."""
    lines[: before * line] = 0
    for i in range(before, before + count):
        lines[i * line + width : (i + 1) * line] = 0
    lines[(before + count) * line : (before + count + after) * line] = 0


@compiled
@no_type_check
def group_row_sums(plan, longest, window, columns, rows):
    """rows_i = sum_k plan_ik columns_{i + k}."""
    line = group_line(window)
    for i in range(longest):
        at = (window + i) * LANES
        sliding_dot(plan, at * line, LANES, columns, i * LANES, LANES, 2 * window + 1, rows, at)


@compiled
@no_type_check
def group_column_sums(plan, longest, window, rows, columns):
    """columns_j = sum of plan_ik rows_i over the entries of column j."""
    line = group_line(window)
    for place in range(window, window + longest):
        at = (place + window) * LANES  # entry 0 is the last row's: column j meets row j - k at k
        sliding_dot(
            plan, at * line, -(line - 1) * LANES, rows, at, -LANES, 2 * window + 1,
            columns, place * LANES,
        )  # fmt: skip


@compiled
@no_type_check
def group_invert(sums, absent):
    """Turns sums into their inverses, and into 1 where a clip is absent."""
    totals, missing = sums.reshape(-1), absent.reshape(-1)
    for place in range(totals.size):
        totals[place] = 1 / (totals[place] + missing[place])


@compiled
@no_type_check
def group_rescale(kernel, longest, window, rows, columns, plan):
    """plan_ik = kernel_ik rows_i columns_{i + k}."""
    line = group_line(window)
    for i in range(longest):
        at = (window + i) * LANES
        scale_vectors(kernel, at * line, columns, i * LANES, rows, at, 2 * window + 1, plan)


@compiled
@no_type_check
def group_warm_up(kernel, longest, window, absent, sweeps, columns):
    """Column scalings after so many of Sinkhorn's sweeps."""
    rows = vectors(columns.shape[0])
    columns[:] = 1
    rows[:] = 1
    inner = slice(window, window + longest)
    for _ in range(sweeps):
        group_row_sums(kernel, longest, window, columns, rows)
        group_invert(rows[inner], absent[inner])
        group_column_sums(kernel, longest, window, rows, columns)
        group_invert(columns[inner], absent[inner])


@compiled
@no_type_check
def group_error(plan, absent, longest, window, error):
    """Largest deviation of a row's or column's sum from 1, for each clip."""
    ones, sums, other = vectors(absent.shape[0]), vectors(absent.shape[0]), np.empty(LANES)
    ones[:] = 1
    group_row_sums(plan, longest, window, ones, sums)
    group_gaps(sums, ones, absent, longest, window)
    largest_size(sums, window * LANES, longest, error)
    group_column_sums(plan, longest, window, ones, sums)
    group_gaps(sums, ones, absent, longest, window)
    largest_size(sums, window * LANES, longest, other)
    for lane in range(LANES):
        error[lane] = max(error[lane], other[lane])


@compiled
@no_type_check
def group_gaps(sums, scales, absent, longest, window):
    """Sums become what sums * scales lack to 1; nothing where a clip is absent."""
    inner = slice(window, window + longest)
    gaps, scale, missing = (
        sums[inner].reshape(-1),
        scales[inner].reshape(-1),
        absent[inner].reshape(-1),
    )
    for place in range(gaps.size):
        gaps[place] = 1 - missing[place] - gaps[place] * scale[place]


@compiled
@no_type_check
def group_store(plan, lengths, members, window, mass):
    """Copies every plan to its place in the batch."""
    line, width = group_line(window), 2 * window + 1
    longest = lengths[members[0]]
    rows = np.empty((LANES, longest * line))
    for place in range(0, longest * line, LANES):
        transpose(plan, (window * line + place) * LANES, LANES, rows, place, rows.shape[1])
    for lane in range(LANES):
        clip = members[lane]
        if clip < 0:
            continue
        n = lengths[clip]
        part, own = mass[clip], rows[lane].reshape(longest, line)
        for i in range(n):
            # Slices that start at 0: Numba would otherwise gather, in case an index is negative.
            given, taken = own[i], part[i]
            for k in range(width):
                taken[k] = given[k]
        part[n:] = 0


@inlined
@no_type_check
def scale_by(given, i, factor, j, count, out, o):
    """out[o + 8 s + lane] = given[i + 8 s + lane] * factor[j + lane] for s < count."""
    scale = load(factor, j)
    for s in range(0, count * LANES, LANES):
        store(times(load(given, i + s), scale), out, o + s)


@inlined
@no_type_check
def scale_vectors(band, o, columns, j, rows, i, count, out):
    """out[o + 8 s + lane] = band[o + 8 s + lane] * rows[i + lane] * columns[j + 8 s + lane]."""
    scale = load(rows, i)
    for s in range(0, count * LANES, LANES):
        store(times(load(band, o + s), times(scale, load(columns, j + s))), out, o + s)


@inlined
@no_type_check
def largest_size(values, i, count, out):
    """out[lane] = the largest absolute value of values[i + 8 s + lane] for s < count."""
    top = everywhere(0.0)
    for s in range(0, count * LANES, LANES):
        top = larger_size(top, load(values, i + s))
    store(top, out, 0)
