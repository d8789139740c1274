"""Names of splits: ours, and those that people write."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from mmalign.errors import DataError

SPLITS = ("train", "valid", "test")

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

ALL_TRAIN = "no splits are stored: every clip is in train; mmalign data split makes others"

Content = TypeVar("Content")


def split_of(name: str) -> str | None:
    """The split that a file name or a key speaks of, or None.

    >>> split_of("mosi_dev.pkl"), split_of("train"), split_of("aligned_50.pkl")
    ('valid', 'train', None)
    """
    parts = re.split(r"[^a-z]+", name.lower())
    found = {SPLIT_NAMES[part] for part in parts if part in SPLIT_NAMES}
    return found.pop() if len(found) == 1 else None


def in_order(by_split: Mapping[str, Content]) -> dict[str, Content]:
    """The splits that are there and hold anything, in our order."""
    return {name: by_split[name] for name in SPLITS if by_split.get(name)}


def keyed_by_split(value: dict[Any, Any]) -> dict[str, Any]:
    """The entries whose keys name a split, under our names."""
    found: dict[str, Any] = {}
    for key, content in value.items():
        split = SPLIT_NAMES.get(key.lower()) if isinstance(key, str) else None
        if split is not None:
            found.setdefault(split, content)
    return {name: found[name] for name in SPLITS if name in found}


def rows_by_split(names: Iterable[str], ids: Sequence[str]) -> dict[str, list[int]]:
    """Rows of each split, from one name a clip as people write it.

    Raises:
        DataError: If a name is that of no split.
    """
    rows: dict[str, list[int]] = {split: [] for split in SPLITS}
    for row, name in enumerate(names):
        split = SPLIT_NAMES.get(name.strip().lower())
        if split is None:
            raise DataError(
                f"unknown split {name[:40]!r}", clip=ids[row], fix="Expected train, valid or test."
            )
        rows[split].append(row)
    return in_order(rows)
