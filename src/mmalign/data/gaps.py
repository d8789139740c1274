"""Gaps: steps that are missing inside a sequence, held as rows of NaN.

Code that does not know about gaps then fails loudly instead of computing with zeros.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mmalign.data.clip import Clip, Observed, Steps
from mmalign.errors import DataError


def observed_in(steps: Steps) -> Observed:
    """Which steps are there: a gap is a row of NaN from its first feature on.

    >>> observed_in(np.array([[1, 2], [np.nan, np.nan]], np.float32)).tolist()
    [True, False]
    """
    observed: Observed = ~np.isnan(steps[:, 0])
    return observed


def with_gaps(steps: Steps, observed: Observed) -> Steps | None:
    """The sequence with NaN at every step that was not observed; None where none was."""
    if observed.all():
        return steps
    if not observed.any():
        return None
    return np.where(observed[:, None], steps, np.float32(np.nan))


class GapCounts(NamedTuple):
    """Missing steps inside sequences, and the clips that have any."""

    steps: int
    clips: int


def count_gaps(observed: Iterable[Observed | None]) -> GapCounts:
    """Count the gaps of a modality, as `Split.observed` tells of them."""
    missing = [int((~is_there).sum()) for is_there in observed if is_there is not None]
    return GapCounts(sum(missing), sum(steps > 0 for steps in missing))


def declared_gaps(clip: Clip, modality: str, steps: Steps) -> Steps | None:
    """The clip's sequence with the gaps that its `observed` tells of.

    Raises:
        DataError: If `observed` does not fit the sequence.
    """
    if not clip.observed:
        return steps
    unknown = set(clip.observed).difference(clip.sequences)
    if unknown:
        raise DataError(
            f"observed names {min(unknown)!r}, which is not a modality of the clip",
            clip=clip.id,
            fix=f"The clip has {', '.join(clip.sequences)}.",
        )
    if modality not in clip.observed:
        return steps
    observed = np.asarray(clip.observed[modality])
    if observed.dtype != np.bool_ or observed.shape != (len(steps),):
        raise DataError(
            f"observed is {observed.dtype} {list(observed.shape)}, "
            f"the sequence has {len(steps)} steps",
            clip=clip.id,
            modality=modality,
            fix="Give one True or False per step.",
        )
    return with_gaps(steps, observed)
