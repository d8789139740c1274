"""Modalities that a model does not know because they are misspelt."""

from collections.abc import Sequence

from mmalign.data.clip import Clip
from mmalign.data.split import Split
from mmalign.errors import DataError
from mmalign.spelling import nearest

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


def _strangers(rows: Rows, known: Sequence[str]) -> list[str]:
    """Names that are not known, of modalities that a clip has."""
    expected = set(known)
    if isinstance(rows, Split):
        names = [name for name in rows.sequences if name not in expected]
        return [name for name in names if rows.is_present(name).any()]
    odd = [clip for clip in rows if not expected.issuperset(clip.sequences)]
    there = (n for clip in odd for n, steps in clip.sequences.items() if steps is not None)
    return [name for name in dict.fromkeys(there) if name not in expected]


def _first_with(rows: Rows, name: str, meant: str) -> str | None:
    """The first clip that has the one and not the other."""
    if not isinstance(rows, Split):
        found = (c.id for c in rows if not c.is_missing(name) and c.is_missing(meant))
        return next(found, None)
    has = rows.is_present(name) & ~rows.has_any([meant])
    return rows.ids[int(has.argmax())] if has.any() else None
