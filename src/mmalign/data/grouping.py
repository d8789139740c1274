"""The person or video of each clip, as users tell it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mmalign.data.clip import Clip
from mmalign.data.split import Split
from mmalign.errors import DataError, counted

if TYPE_CHECKING:
    Groups = Callable[[str], object] | Iterable[object]
else:
    # Anything may be handed over; what tells no groups is refused here, in words that help.
    Groups = object
"""A function from a clip's id to its person or video, or one person or video per clip."""

FIX = "Give one person or video per clip, or a function from a clip's id to it."


def with_groups(rows: Split | list[Clip], groups: Groups | None) -> Split | list[Clip]:
    """The clips, each of the group that is told; without any, of those that they name themselves.

    Raises:
        DataError: If these are no groups, or not one for each clip.

    >>> clips = [Clip("a"), Clip("b")]
    >>> [clip.group for clip in with_groups(clips, ["ann", "ben"])]
    ['ann', 'ben']
    >>> [clip.group for clip in with_groups(clips, lambda clip_id: clip_id * 2)]
    ['aa', 'bb']
    """
    if groups is None:
        return rows
    if isinstance(rows, Split):
        return rows.with_known_features(groups=tuple(group_names(groups, rows.ids)))
    names = group_names(groups, [clip.id for clip in rows])
    return [replace(clip, group=name) for clip, name in zip(rows, names, strict=True)]


def group_names(groups: Groups, ids: Sequence[str]) -> list[str]:
    """The group of each clip.

    Raises:
        DataError: If these are no groups, or not one for each clip.
    """
    told = [groups(clip_id) for clip_id in ids] if callable(groups) else _listed(groups, len(ids))
    for clip_id, group in zip(ids, told, strict=True):
        if group is None or group != group:  # NaN is how pandas writes that there is none
            raise DataError("no group is told for it", clip=clip_id, fix=FIX)
    return [str(group) for group in told]


def _listed(groups: Groups, clips: int) -> list[object]:
    """The groups as a list.

    Raises:
        DataError: If they are no list of so many.
    """
    is_flat = getattr(groups, "ndim", 1) == 1
    if not isinstance(groups, Iterable) or isinstance(groups, str | Mapping) or not is_flat:
        raise DataError(f"groups cannot be told by {type(groups).__name__}", fix=FIX)
    told = list(groups)
    if len(told) != clips:
        raise DataError(f"{counted(len(told), 'group')} for {counted(clips, 'clip')}", fix=FIX)
    return told
