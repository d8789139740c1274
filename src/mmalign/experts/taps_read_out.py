"""The end of the taps network: steps are pooled and read out, and the loss gives the first slopes.

All weights are one array, as in `mmalign.experts.taps_slopes`.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.simd import load, store, times
from mmalign.experts.layout import LANES
from mmalign.experts.taps_forward import matrix, vector
from mmalign.experts.taps_kernels import fill_pooled, spread_pooled
from mmalign.model.kernels.chance import factors_at


@compiled
@no_type_check
def read_out(steps, bounds, flat, starts, seeds, dropped, own, other, share, slopes):
    """The slopes of the last steps; those of the read-out's weights are added to ``slopes``."""
    clips, dim = len(bounds) - 1, steps.shape[1]
    last = len(starts) - 3
    pool, places = np.empty((clips, 2 * dim), np.float32), np.empty((clips, dim), np.int32)
    fill_pooled(steps, bounds, pool, places)
    drop_out(pool, seeds, dropped)
    read = matrix(flat, starts, last, 2 * dim)
    outputs = np.dot(pool, read.T)
    outputs += vector(flat, starts, last + 1)
    fill_loss_slopes(outputs, own, other, share)
    to_read = matrix(slopes, starts, last, 2 * dim)
    to_read += np.dot(outputs.T, pool)
    to_bias = vector(slopes, starts, last + 1)
    for clip in range(clips):
        to_bias += outputs[clip]
    to_pool = np.dot(outputs, read)
    drop_out(to_pool, seeds, dropped)
    to_steps = np.empty((bounds[-1], dim), np.float32)
    spread_pooled(to_pool, bounds, places, to_steps)
    return to_steps


@compiled
@no_type_check
def drop_out(pool, seeds, dropped):
    """Multiplies each clip's row by what its seed keeps."""
    louder = np.float32(256) / np.float32(256 - dropped)
    for clip in range(len(pool)):
        place = clip * pool.shape[1]
        for k in range(0, pool.shape[1], LANES):
            kept = factors_at(k, seeds[clip], dropped, louder)
            store(times(load(pool, place + k), kept), pool, place + k)


@compiled
@no_type_check
def fill_loss_slopes(outputs, own, other, share):
    """Turns outputs into slopes: of the cross-entropy, or of the absolute error of one number."""
    rest = np.float32(1) - share
    for clip in range(len(outputs)):
        row, wanted, others = outputs[clip], own[clip], other[clip]
        if len(row) == 1:
            row[0] = share * np.sign(row[0] - wanted[0]) + rest * np.sign(row[0] - others[0])
            continue
        highest = row.max()
        for k in range(len(row)):
            row[k] = np.exp(row[k] - highest)
        total = row.sum()
        for k in range(len(row)):
            row[k] = row[k] / total - share * wanted[k] - rest * others[k]
