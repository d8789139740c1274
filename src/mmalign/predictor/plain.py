"""Clips that need no preparation: a list of `Clip`, with float32 arrays of the right width.

Whatever is unusual about clips goes the long way, over a `Split`, where it is converted, cleaned or
refused; most are plain, and can be told from others in some microseconds each.
"""

from collections.abc import Collection, Mapping

import numpy as np

from mmalign.data.clip import Clip, Steps

Row = list[Steps | None]
"""One sequence for each modality of a model, or none."""

FLOAT = np.dtype(np.float32)


def plain_rows(
    clips: object, features: Mapping[str, int], needed: Collection[str]
) -> list[Row] | None:
    """The sequences that a model reads of each clip, or None where a clip is not plain.

    Args:
        clips: What was given to predict.
        features: Numbers a step of each modality that the model reads.
        needed: Modalities that no clip may lack.
    """
    if type(clips) is not list or not clips:
        return None
    rows = []
    for clip in clips:
        row = _plain_row(clip, features, needed) if type(clip) is Clip else None
        if row is None:
            return None
        rows.append(row)
    return rows


def _plain_row(clip: Clip, features: Mapping[str, int], needed: Collection[str]) -> Row | None:
    row: Row = []
    is_empty, given = True, clip.sequences
    for name, dim in features.items():
        steps = given.get(name)
        if steps is None:
            if name in needed:
                return None
        elif not _is_plain(steps, dim):
            return None
        else:
            is_empty = False
        row.append(steps)
    return None if is_empty or clip.observed else row


def _is_plain(steps: object, dim: int) -> bool:
    """Whether these are finite numbers that a kernel can read where they are."""
    if type(steps) is not np.ndarray or steps.dtype is not FLOAT or steps.ndim != 2:
        return False
    flags = steps.flags
    return bool(
        steps.shape[1] == dim
        and len(steps) > 0
        and flags.c_contiguous
        and flags.writeable
        and np.logical_and.reduce(np.isfinite(steps), axis=None)
    )
