"""What a file leaves open and its user may decide."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What a file leaves open and its user may decide.

    Attributes:
        label: Which label to take where a file has several, e.g. `happy` in MOSEI.
        vectors: File of word vectors for layouts that store word ids or words only.
    """

    label: str | None = None
    vectors: Path | None = None
