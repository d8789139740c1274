"""Which of the paper's modalities a name stands for."""

from collections.abc import Mapping

NAMES: Mapping[str, frozenset[str]] = {
    "text": frozenset({"text", "words", "language", "glove", "bert", "t"}),
    "vision": frozenset({"vision", "visual", "video", "face", "facet", "openface", "v"}),
    "audio": frozenset({"audio", "acoustic", "voice", "speech", "covarep", "a"}),
}
"""What people call them."""


def modality_of(name: str) -> str | None:
    """The paper's modality; None if the name is none that people use.

    >>> modality_of("Visual"), modality_of("gyroscope")
    ('vision', None)
    """
    found = [modality for modality, names in NAMES.items() if name.lower() in names]
    return found[0] if found else None
