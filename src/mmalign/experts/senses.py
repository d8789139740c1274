"""What a user says of how experts read a modality, instead of leaving it to be chosen."""

from collections.abc import Mapping
from typing import Any

from mmalign.errors import suggestion

PARTS = ("centre", "own_scale", "smooth", "motion", "windows", "patterns")
"""Of an input sense; `patterns` tells whether the ridge has pattern features."""

Senses = Mapping[str, Mapping[str, bool]]
"""For a modality, the parts of its sense that are given."""


def sense_problems(senses: Any) -> list[str]:
    """What is wrong with the senses that are given, without a look at clips.

    >>> sense_problems({"wrist": {"center": True}})
    ["senses: wrist has no part 'center'; did you mean 'centre'?"]
    """
    if senses is None:
        return []
    if not isinstance(senses, Mapping) or not all(isinstance(g, Mapping) for g in senses.values()):
        return ["senses must be a dict for each modality, such as {'wrist': {'centre': True}}"]
    return [text for name, given in senses.items() for text in _problems(name, given)]


def _problems(name: str, given: Mapping[str, Any]) -> list[str]:
    found = [
        f"senses: {name} has no part {part!r}; {suggestion(str(part), PARTS)}"
        for part in given
        if part not in PARTS
    ]
    found += [
        f"senses: {name}: {part} must be true or false, got {value!r}"
        for part, value in given.items()
        if part in PARTS and not isinstance(value, bool)
    ]
    read = [given.get("patterns", True), given.get("windows", True), given.get("motion", False)]
    if not any(read):
        found.append(f"senses: {name} needs patterns, windows or motion: the ridge reads no more")
    return found
