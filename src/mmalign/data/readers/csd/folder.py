"""Which .csd file of a folder is which: labels, words, or a modality."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmalign.data.readers.csd.sequences import (
    ComputationalSequence,
    FeatureSequence,
    WordSequence,
)
from mmalign.errors import DataError

LABELS = re.compile("label", re.IGNORECASE)
PHONES = re.compile("phone", re.IGNORECASE)
MODALITIES = (
    ("text", re.compile(r"word.*vec|glove|bert", re.IGNORECASE)),
    ("visual", re.compile(r"facet|openface|visual|vision|face", re.IGNORECASE)),
    ("acoustic", re.compile(r"covarep|opensmile|acoustic|audio|voice", re.IGNORECASE)),
)


@dataclass(frozen=True)
class Folder:
    """The files of a folder by role."""

    labels: FeatureSequence
    words: WordSequence | None
    modalities: Mapping[str, FeatureSequence]

    @property
    def pivot(self) -> ComputationalSequence | None:
        """The sequence that others are aligned to: the words, or vectors of words."""
        return self.words or self.modalities.get("text")


def sort_files(sequences: Sequence[ComputationalSequence], path: Path) -> Folder:
    """Tell labels, words and modalities apart.

    Raises:
        DataError: If there are no labels, or nothing else.
    """
    numbers = [s for s in sequences if isinstance(s, FeatureSequence)]
    labels = [s for s in numbers if LABELS.search(s.name)]
    found = ", ".join(s.file.name for s in sequences)
    if len(labels) != 1:
        problem = "several files of labels" if labels else "no labels"
        raise DataError(
            f"{problem} among the .csd files ({found})",
            file=path,
            fix="Put one in: CMU_MOSI_Opinion_Labels.csd or CMU_MOSEI_Labels.csd.",
        )
    texts = [s for s in sequences if isinstance(s, WordSequence)]
    words = next((s for s in texts if not PHONES.search(s.name)), None)
    modalities = _by_modality([s for s in numbers if s is not labels[0]])
    if not modalities and words is None:
        raise DataError(
            f"labels but no modality among the .csd files ({found})",
            file=path,
            fix="Put the .csd files of words or features beside the labels.",
        )
    return Folder(labels[0], words, modalities)


def _by_modality(sequences: Sequence[FeatureSequence]) -> dict[str, FeatureSequence]:
    """text, visual, acoustic and others; by their file's name where two claim one modality."""
    claims: dict[str, list[FeatureSequence]] = {name: [] for name, _ in MODALITIES}
    for sequence in sequences:
        fits = (name for name, pattern in MODALITIES if pattern.search(sequence.name))
        claims.setdefault(next(fits, sequence.root), []).append(sequence)
    return {
        name if len(members) == 1 else sequence.file.stem: sequence
        for name, members in claims.items()
        for sequence in members
    }
