"""Sequences without their gaps, as experts read them."""

from collections.abc import Sequence

import numpy as np

from mmalign.data.clip import Steps
from mmalign.data.gaps import observed_in
from mmalign.data.packed import Packed, packed


def all_without_gaps(clips: Sequence[Steps], *, smooth: bool) -> Packed:
    """Sequences of observed steps only, as `without_gaps` makes them."""
    given = packed(clips)
    if observed_in(given.rows).all():
        return given
    return packed([without_gaps(steps, smooth=smooth) for steps in given])


def without_gaps(steps: Steps, *, smooth: bool) -> Steps:
    """A sequence of observed steps only.

    In a signal, a straight line bridges each gap, and the nearest observed step stands before the
    first and after the last one: the others keep their times. A list of words closes up.

    >>> gapped = np.array([[1], [np.nan], [3]], np.float32)
    >>> without_gaps(gapped, smooth=True).tolist(), without_gaps(gapped, smooth=False).tolist()
    ([[1.0], [2.0], [3.0]], [[1.0], [3.0]])
    """
    observed = observed_in(steps)
    if observed.all():
        return steps
    if not smooth:
        closed: Steps = steps[observed]
        return closed
    times, known = np.arange(len(steps)), np.flatnonzero(observed)
    after = np.searchsorted(known, times).clip(max=len(known) - 1)
    before = np.maximum(after - (known[after] > times), 0)
    left, right = known[before], known[after]
    part = np.clip((times - left) / np.maximum(right - left, 1), 0, 1)[:, None].astype(np.float32)
    bridged: Steps = steps[left] * (1 - part) + steps[right] * part
    return bridged
