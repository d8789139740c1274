"""What `mmalign data split` is asked for, and what it says it did."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mmalign.errors import ConfigError, counted, suggestion

if TYPE_CHECKING:
    from mmalign.data import Dataset


def shares(valid: float, test: float | None, test_from: str | None) -> dict[str, float]:
    """Shares of the clips that are dealt.

    Raises:
        ConfigError: If there is a share for the test, and a file for it as well.
    """
    if test is not None and test_from is not None:
        raise ConfigError("give --test or --test-from, not both")
    return {"valid": valid, "test": 0.0 if test_from is not None else 0.2 if test is None else test}


def chosen_groups(by: str) -> Callable[[str], str] | None:
    """From a clip's id to its group; None where the data tells it.

    Raises:
        ConfigError: If it is nothing that data tells, and no regular expression with a part.
    """
    from mmalign.data.readers.groups import GROUPS
    from mmalign.data.split_rules import group_in

    if by == "clip":
        return lambda clip_id: clip_id
    if by.rstrip("s") in GROUPS:
        return None
    try:
        parts = re.compile(by).groups
    except re.error as error:
        raise ConfigError(f"--by {by!r} is not a regular expression: {error}") from error
    if parts == 0:
        known = suggestion(by, [*GROUPS, "clip"])
        wanted = "neither a name that data has, nor a pattern of ids such as '^(.*?)-'"
        raise ConfigError(f"--by {by!r} is {wanted}; {known}")
    return lambda clip_id: group_in(by, clip_id)


def describe_split(dataset: "Dataset", groups: Callable[[str], str] | None) -> Iterator[str]:
    """A line for each split: its clips and groups."""
    for name, split in dataset.splits.items():
        known = split.groups if groups is None else [groups(one) for one in split.ids]
        count = f", {counted(len(set(known)), 'group')}" if known else ""
        yield f"{name:5} {counted(len(split), 'clip')}{count}"
