"""Folders that nobody else can write to: what is read from there is our own."""

import contextlib
import os
import stat
from functools import cache
from pathlib import Path


@cache
def is_private(folder: str) -> bool:
    """Whether only its user, and root, can put files there, or put another folder in its place."""
    if os.name != "posix":
        return True  # a profile of its user, whom no mode tells from others
    place = Path(folder).absolute()
    while not place.exists():
        place = place.parent  # it will be made for us alone, below one that is checked
    place = place.resolve()
    return all(_is_ours(part, is_last=part == place) for part in (place, *place.parents))


def private_folder() -> Path | None:
    """A folder for compiled kernels in the user's cache, if there can be one."""
    with contextlib.suppress(OSError, RuntimeError):
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = home / "mmalign" / "kernels"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder if is_private(str(folder)) else None
    return None


def _is_ours(folder: Path, *, is_last: bool) -> bool:
    """Whether others can change the names in a folder; in a sticky one, only their own."""
    found = folder.stat()
    others = bool(found.st_mode & stat.S_IWOTH)
    group = bool(found.st_mode & stat.S_IWGRP) and not _is_group_of_one(found.st_gid)
    is_sticky = not is_last and bool(found.st_mode & stat.S_ISVTX)
    return found.st_uid in (0, os.geteuid()) and (is_sticky or not (others or group))


def _is_group_of_one(group_id: int) -> bool:
    """Whether it is the group that a system makes for each user, and nobody else is in it."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(group_id)
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
