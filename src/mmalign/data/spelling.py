"""Modalities that a model does not know because they are misspelt."""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from mmalign.data.clip import Clip
from mmalign.data.split import Split
from mmalign.errors import DataError

SHORTEST, ALIKE = 4, 0.75
"""A word of so many letters is known by a slip of it, if they are so much alike."""

SHORTENED = 3
"""Letters that stand for a word that begins with them: `acc` for `accelerometer`."""

Rows = Split | list[Clip]


def require_known(rows: Rows, known: Sequence[str]) -> None:
    """Check that no clip has a modality under a name that is one of these, misspelt.

    A name that is like one that the clip has anyway is another modality.

    Raises:
        DataError: At the first clip that has.
    """
    for name in _strangers(rows, known):
        meant = nearest(name, known)
        clip = None if meant is None else _first_with(rows, name, meant)
        if clip is not None:
            raise DataError(
                f"the model does not know {name!r}",
                clip=clip,
                fix=f"Did you mean {meant!r}? Rename it, or leave it out.",
            )


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is meant, if this one looks like a slip or a short form of it.

    >>> nearest("wrsit", ["pose", "wrist"]), nearest("gyro", ["gyroscope"])
    ('wrist', 'gyroscope')
    >>> nearest("Left-Wrist", ["left_wrist"]), nearest("imu2", ["imu1"])
    ('left_wrist', None)
    """
    return next((one for one in known if one != name and _is_like(_words(name), _words(one))), None)


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", name.casefold()) if word]


def _is_like(words: list[str], others: list[str]) -> bool:
    one, other = "".join(words), "".join(others)
    if one == other:
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


def _strangers(rows: Rows, known: Sequence[str]) -> list[str]:
    """Names that are not known, of modalities that a clip has."""
    expected = set(known)
    if not isinstance(rows, Split):
        return _names_in([clip for clip in rows if not expected.issuperset(clip.sequences)], known)
    names = [name for name in rows.sequences if name not in expected]
    return [name for name in names if rows.is_present(name).any()]


def _names_in(clips: Sequence[Clip], known: Sequence[str] = ()) -> list[str]:
    found = dict.fromkeys(
        name
        for clip in clips
        for name, steps in clip.sequences.items()
        if steps is not None and name not in known
    )
    return list(found)


def _first_with(rows: Rows, name: str, meant: str) -> str | None:
    """The first clip that has the one and not the other."""
    if not isinstance(rows, Split):
        found = (c.id for c in rows if not c.is_missing(name) and c.is_missing(meant))
        return next(found, None)
    has = rows.is_present(name)
    if meant in rows.sequences:
        has = has & ~rows.is_present(meant)
    return rows.ids[int(has.argmax())] if has.any() else None
