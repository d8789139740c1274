"""A clip: one sample with one sequence per modality, any of which may be missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float32, Float64, Shaped

from mmalign.errors import DataError

Steps = Float32[np.ndarray, "_ _"]
"""One modality of one clip, `[time, dim]`; anonymous axes, as clips differ in length."""

if TYPE_CHECKING:
    StepsColumn = Sequence[Steps | None]
else:
    # A column may be read from a file element by element; a type checker at run time must not
    # look into it: it would read every clip, and fail at a damaged one.
    StepsColumn = Sequence
"""One modality of many clips, in order."""

Times = Float64[np.ndarray, "_ 2"]
"""Start and end of each word in seconds."""

Observed = Bool[np.ndarray, " _"]
"""Which steps of a sequence are there; the others are a gap."""


@dataclass(frozen=True, eq=False)
class Clip:
    """One sample: id, label, and one sequence per modality (None if it is missing).

    A clip to predict needs no label: `Clip("new", sequences={…})`.
    `observed` marks the recorded steps of a modality with gaps; values at other steps are ignored.
    `group` is the person or video that the clip comes from.
    Two clips are equal if they are the same object: arrays have no single truth value.

    Raises:
        DataError: If the sequences have no names.

    >>> import numpy as np
    >>> clip = Clip("a", 1.5, {"text": np.zeros((3, 2), np.float32), "audio": None})
    >>> clip.is_missing("audio"), clip.is_missing("text")
    (True, False)
    >>> clip
    Clip('a', 1.5, text [3, 2], no audio)
    """

    id: str
    label: float | int | str | None = None
    sequences: Mapping[str, Shaped[np.ndarray, "..."] | None] = field(default_factory=dict)
    words: Sequence[str] | None = None
    times: Times | None = None
    observed: Mapping[str, Shaped[np.ndarray, "..."]] = field(default_factory=dict)
    group: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.sequences, Mapping):
            raise DataError(
                f"its sequences are not a dict but {type(self.sequences).__name__}",
                clip=str(self.id),
                fix="Name each one: {modality: array [time, dim]}.",
            )

    def __repr__(self) -> str:
        shown = [repr(self.id)] if self.label is None else [repr(self.id), repr(self.label)]
        for name, steps in self.sequences.items():
            shown.append(f"no {name}" if steps is None else f"{name} {list(np.shape(steps))}")
        return f"Clip({', '.join(shown if self.group is None else [*shown, f'of {self.group}'])})"

    def is_missing(self, modality: str) -> bool:
        """Whether this clip has no sequence of the modality."""
        return self.sequences.get(modality) is None
