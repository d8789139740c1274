"""The loop of the window features, compiled."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled
from mmalign.align.kernels.simd import everywhere, larger, load, plus, store
from mmalign.align.kernels.tiled import ROWS_OF_ONE, once, side_by_side, sum_one
from mmalign.experts.layout import LANES


@compiled
@no_type_check
def fill_windows(steps, bounds, width, panels, biases, start, detectors, found):
    """Fills numbers of ``found`` from ``start`` on: mean and maximum of rectified answers.

    A window is ``width`` of a clip's ``steps`` in a row. ``panels`` holds a vector of detectors
    after the other, with a line for each number of a window. Whole tiles of windows are read: after
    the last clip there must be steps for one.
    """
    channels = steps.shape[1]
    inputs, none = width * channels, everywhere(np.float32(0))
    turns, vector = once(inputs), side_by_side(LANES)
    block = np.empty(ROWS_OF_ONE * LANES, np.float32)
    means, most = np.empty(len(biases), np.float32), np.empty(len(biases), np.float32)
    for clip in range(len(bounds) - 1):
        first, count = bounds[clip], bounds[clip + 1] - bounds[clip] - width + 1
        share = np.float32(1) / np.float32(count)
        for k in range(0, len(biases), LANES):
            total = highest = none
            for row in range(0, count, ROWS_OF_ONE):
                sum_one(
                    *(steps, (first + row) * channels, channels, 1, panels, k * inputs, LANES),
                    *(turns, vector, 0, biases, k, 0, block, 0, LANES),
                )
                for place in range(0, min(ROWS_OF_ONE, count - row) * LANES, LANES):
                    answer = larger(load(block, place), none)
                    total, highest = plus(total, answer), larger(highest, answer)
            store(total, means, k)
            store(highest, most, k)
        for k in range(detectors):
            found[clip, start + k] = means[k] * share
            found[clip, start + detectors + k] = most[k]
