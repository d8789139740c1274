"""Whose clips these are: the person or video that clips share, where the data tells."""

import re
from collections.abc import Iterable, Sequence

GROUPS = ("group", "subject", "participant", "person", "user", "speaker", "video", "dialogue")
"""Names of columns that tell it, in the singular, the first one that is there counting."""

PART = re.compile(r"(.+?)(?:\[\d+\]|\$_\$\d+|_utt\d+)")
"""A numbered part of a video or dialogue: `vid[3]`, `vid$_$3`, `train_dia7_utt3`."""


def group_column(names: Iterable[str]) -> str | None:
    """The name of the column that tells the clips' groups."""
    singular = {name.lower().rstrip("s"): name for name in reversed(list(names))}
    return next((singular[name] for name in GROUPS if name in singular), None)


def groups_in_ids(ids: Sequence[str]) -> tuple[str, ...] | None:
    """The videos or dialogues of which the ids name parts; None if one of them does not.

    >>> groups_in_ids(["03bSnISJMiM[0]", "03bSnISJMiM[11]"]), groups_in_ids(["clip1"])
    (('03bSnISJMiM', '03bSnISJMiM'), None)
    """
    found = [PART.fullmatch(clip_id) for clip_id in ids]
    groups = tuple(match[1] for match in found if match is not None)
    return groups if groups and len(groups) == len(ids) else None
