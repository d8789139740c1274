"""Modalities that a model does not know: those that are misspelt, and those that are others."""

import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

import numpy as np

from mmalign.data.clip import Clip
from mmalign.data.split import Split
from mmalign.errors import DataError, UnknownModalityWarning, shown

SHORTEST = 4
"""Letters of a word that a slip leaves recognisable: `pose` and `nose`, but not `x` and `y`."""

SHORTENED = 3
"""Letters that stand for a word that begins with them: `acc` for `accelerometer`."""

ALIKE = 0.85
"""How much of a long word is there if it was meant."""

BETWEEN = ("mmalign.", "contextlib", "jaxtyping", "beartype")
"""Modules that stand between a call of ours and the code that made it."""

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


def warn_of_unknown(rows: Rows, known: Sequence[str]) -> None:
    """Tell of modalities that clips have and that are left out, as they are none of these."""
    names = ", ".join(map(repr, _strangers(rows, known)))
    if names:
        _tell(f"the model does not know {names}: left out. It uses {', '.join(known)}.")


def warn_of_twins(rows: Rows) -> None:
    """Tell of two modalities with nearly the same name that no clip has together."""
    names = list(rows.sequences) if isinstance(rows, Split) else _names_in(rows)
    for place, name in enumerate(names):
        twin = nearest(name, names[:place])
        if twin is not None and not _has_both(rows, name, twin):
            both = f"{twin!r} and {name!r}"
            _tell(f"no clip has both {both}: if they are one modality, give them one name.")


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
    if re.findall(r"\d", one) != re.findall(r"\d", other):
        return False  # imu1 and imu2 are two modalities
    if len(words) != len(others):
        return _is_slip(one, other)
    return all(
        a == b or _is_slip(a, b) or _is_short_for(a, b) or _is_short_for(b, a)
        for a, b in zip(words, others, strict=True)
    )


def _is_slip(one: str, other: str) -> bool:
    """Whether two words differ by a letter, or by two that changed places; long ones by more."""
    shortest = min(len(one), len(other))
    if shortest < SHORTEST:
        return False
    if shortest >= 2 * SHORTEST and SequenceMatcher(None, one, other).ratio() >= ALIKE:
        return True
    start = next((at for at in range(shortest) if one[at] != other[at]), shortest)
    a, b = one[start:], other[start:]
    is_turned = a[:2] == b[:2][::-1] and a[2:] == b[2:]
    return is_turned or a[1:] == b[1:] or a[1:] == b or a == b[1:]


def _is_short_for(one: str, other: str) -> bool:
    return len(one) >= SHORTENED and other.startswith(one)


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


def _has_both(rows: Rows, one: str, other: str) -> bool:
    if isinstance(rows, Split):
        return bool(np.any(rows.is_present(one) & rows.is_present(other)))
    return any(not clip.is_missing(one) and not clip.is_missing(other) for clip in rows)


def _tell(what: str) -> None:
    """Warn, in the name of the line that called mmalign."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(BETWEEN):
        frame = frame.f_back
    place, known = frame.f_code.co_filename, frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        shown(what), UnknownModalityWarning, place, frame.f_lineno, registry=known
    )
