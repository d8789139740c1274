"""Choices that a file leaves to its user."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Choices that a file leaves to its user.

    Attributes:
        label: Which label to take where a file has several, e.g. `happy` in MOSEI.
        vectors: File of word vectors for layouts that store word ids or words only.
    """

    label: str | None = None
    vectors: Path | None = None
