"""Choices that a file leaves to its user."""

from dataclasses import dataclass
from pathlib import Path

from mmalign.errors import DataError


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Choices that a file leaves to its user.

    Attributes:
        label: Which label to take where a file has several, e.g. `happy` in MOSEI.
        vectors: File of word vectors for layouts that store word ids or words only.
    """

    label: str | None = None
    vectors: Path | None = None

    def require_no_label(self) -> None:
        """Refuse a choice among labels where there is but one.

        Raises:
            DataError: If a label other than `label` was chosen.
        """
        if self.label not in (None, "label"):
            raise DataError(
                f"there is no label {self.label!r}: each clip has one, and no choice of several",
                fix="Leave out --label (label=… in Python), or choose it where the file that has "
                "several is converted: mmalign data convert FILE OUT --label NAME.",
            )

    def require_no_vectors(self) -> None:
        """Refuse word vectors where no words are waiting for them.

        Raises:
            DataError: If there are any.
        """
        if self.vectors is not None:
            raise DataError(
                f"{self.vectors} would not be used: no words here need vectors",
                fix="Leave out --vectors (vectors=… in Python).",
            )
