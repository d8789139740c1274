"""A clip: one sample with one sequence per modality, any of which may be missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64

Steps = Float32[np.ndarray, "time dim"]
"""One modality of one clip."""

Times = Float64[np.ndarray, "words 2"]
"""Start and end of each word in seconds."""


@dataclass(frozen=True)
class Clip:
    """One sample: id, label, one sequence per modality (None where it is missing).

    >>> import numpy as np
    >>> clip = Clip("a", 1.5, {"text": np.zeros((3, 2), np.float32), "audio": None})
    >>> clip.is_missing("audio"), clip.is_missing("text")
    (True, False)
    """

    id: str
    label: float | int | None
    sequences: Mapping[str, Steps | None]
    words: Sequence[str] | None = None
    times: Times | None = None

    def is_missing(self, modality: str) -> bool:
        """Whether this clip has no sequence of the modality."""
        return self.sequences.get(modality) is None
