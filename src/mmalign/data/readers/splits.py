"""Names of splits as people write them."""

import re
from collections.abc import Mapping
from typing import Any

SPLIT_NAMES: Mapping[str, str] = {
    "train": "train",
    "training": "train",
    "valid": "valid",
    "val": "valid",
    "validation": "valid",
    "dev": "valid",
    "test": "test",
    "testing": "test",
}

ALL_TRAIN = "no splits are stored: every clip is in train; mmalign.data.split_by makes splits"


def split_of(name: str) -> str | None:
    """The split that a file name or a key speaks of, or None.

    >>> split_of("mosi_dev.pkl"), split_of("train"), split_of("aligned_50.pkl")
    ('valid', 'train', None)
    """
    parts = re.split(r"[^a-z]+", name.lower())
    found = {SPLIT_NAMES[part] for part in parts if part in SPLIT_NAMES}
    return found.pop() if len(found) == 1 else None


def by_split(value: dict[Any, Any]) -> dict[str, Any]:
    """The entries whose keys name a split, under our names."""
    found: dict[str, Any] = {}
    for key, content in value.items():
        split = SPLIT_NAMES.get(key.lower()) if isinstance(key, str) else None
        if split is not None:
            found.setdefault(split, content)
    return {name: found[name] for name in ("train", "valid", "test") if name in found}
