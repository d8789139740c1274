"""Misspelt names: which known one was meant."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

SHORTEST, ALIKE = 4, 0.75
"""A word of so many letters is known by a slip of it, if they are so much alike."""

SHORTENED = 3
"""Letters that stand for a word that begins with them: `acc` for `accelerometer`."""


SYNONYMS = (frozenset({"visual", "vision"}), frozenset({"acoustic", "audio"}))
"""Words that corpora of speakers use for the same modality."""


def meant(name: str, known: Iterable[str]) -> str | None:
    """The known name that is closest to one that is not known, if any may have been meant.

    >>> meant("windw", ["window", "epsilon"]), meant("acc", ["pose", "accelerometer"])
    ('window', 'accelerometer')
    """
    names = list(known)
    return next(iter(get_close_matches(name, names, n=1)), None) or nearest(name, names)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is meant, if this one looks like a slip or a short form of it.

    Stricter than `meant`: a name that may well be right is not taken for another.

    >>> nearest("wrsit", ["pose", "wrist"]), nearest("gyro", ["gyroscope"])
    ('wrist', 'gyroscope')
    >>> nearest("Left-Wrist", ["left_wrist"]), nearest("imu2", ["imu1"])
    ('left_wrist', None)
    >>> nearest("vision", ["text", "visual"])
    'visual'
    """
    return next((one for one in known if one != name and _is_like(_words(name), _words(one))), None)


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", name.casefold()) if word]


def _is_like(words: list[str], others: list[str]) -> bool:
    one, other = "".join(words), "".join(others)
    if one == other or {one, other} in SYNONYMS:
        return True
    if len(words) != len(others) or re.findall(r"\d", one) != re.findall(r"\d", other):
        return False  # wrist and wrist_gyro, imu1 and imu2
    return all(map(_is_slip, words, others))


def _is_slip(one: str, other: str) -> bool:
    """Whether two words are the same but for a slip, or one begins the other."""
    short, long = sorted((one, other), key=len)
    if len(short) >= SHORTENED and long.startswith(short):
        return True
    is_long_enough = len(short) >= SHORTEST
    return one == other or (is_long_enough and SequenceMatcher(None, one, other).ratio() >= ALIKE)
