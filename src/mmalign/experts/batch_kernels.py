"""What happens to the clips of a batch before the network reads them, compiled.

Steps are ``[rows, features]``, the clips of a batch one after the other; ``bounds[k]`` is where
clip k begins, and where the one before ends.
"""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled


@compiled
@no_type_check
def add_changed(rows, bounds, pace, start, gain, out):
    """Adds clips to ``out`` at another pace, from another start on, and louder.

    A step between two others is a mixture of both; beyond its ends, a clip stands still.
    """
    for clip in range(len(bounds) - 1):
        first, last = bounds[clip], bounds[clip + 1] - bounds[clip] - 1
        middle, factor = last / 2, gain[clip]
        for t in range(last + 1):
            place = min(max((t - middle) * pace[clip] + middle + start[clip], 0.0), float(last))
            below = int(place)
            part = np.float32(place - below)
            here, after = rows[first + below], rows[first + min(below + 1, last)]
            row = out[first + t]
            for k in range(len(row)):
                row[k] += factor * (here[k] + part * (after[k] - here[k]))


@compiled
@no_type_check
def fill_mixed(rows, bounds, other, share, mixed_bounds, out):
    """Fills ``out`` with ``share`` of each clip and the rest of another; the longer one's steps."""
    rest = np.float32(1) - share
    for clip in range(len(bounds) - 1):
        own, theirs = bounds[clip], bounds[other[clip]]
        length, their_length = bounds[clip + 1] - own, bounds[other[clip] + 1] - theirs
        first = mixed_bounds[clip]
        for t in range(mixed_bounds[clip + 1] - first):
            row = out[first + t]
            for k in range(len(row)):
                mine = share * rows[own + t, k] if t < length else np.float32(0)
                row[k] = mine + (rest * rows[theirs + t, k] if t < their_length else np.float32(0))
