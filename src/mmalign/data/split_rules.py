"""Deal clips into splits by rules that a file can state: by their ids, groups or present split."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mmalign.data.dataset import Dataset
from mmalign.data.splitting import split_by
from mmalign.errors import ConfigError, DataError


@dataclass(frozen=True, kw_only=True)
class SplitRule:
    """Which clips make up a split.

    Attributes:
        match: A regular expression that is searched for in the id.
        split: Only clips that are in this split now.
        group: A regular expression whose first group names the person or video of a clip.
        last: Only clips of the last so many groups, in alphabetical order.

    >>> SplitRule(match="subject7").chosen({"train": ["subject1-a", "subject7-a"]})
    frozenset({'subject7-a'})
    """

    match: str = ""
    split: str | None = None
    group: str | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        problems = []
        for name in ("match", "group"):
            try:
                re.compile(getattr(self, name) or "")
            except re.error as error:
                problems.append(
                    f"{name} {getattr(self, name)!r} is not a regular expression: {error}"
                )
        if (self.group is None) != (self.last is None):
            problems.append("group and last go together: clips of the last groups")
        if problems:
            raise ConfigError(problems)

    def chosen(self, ids: Mapping[str, list[str]]) -> frozenset[str]:
        """Ids that the rule takes, of the ids in each present split."""
        found = [
            clip_id
            for split, members in ids.items()
            for clip_id in members
            if self.split in (None, split) and re.search(self.match, clip_id)
        ]
        if self.group is None or self.last is None:
            return frozenset(found)
        groups = {clip_id: group_in(self.group, clip_id) for clip_id in found}
        last = set(sorted(set(groups.values()))[-self.last :])
        return frozenset(clip_id for clip_id in found if groups[clip_id] in last)


def group_in(pattern: str, clip_id: str) -> str:
    """The part of an id that a pattern puts in parentheses.

    Raises:
        DataError: If it finds nothing.
    """
    found = re.search(pattern, clip_id)
    if found is None or not found.groups() or found.group(1) is None:
        raise DataError(
            f"group {pattern!r} finds nothing in the id",
            clip=clip_id,
            fix="Put the part of the id that names its group in parentheses.",
        )
    return found.group(1)


def deal(dataset: Dataset, rules: Mapping[str, SplitRule]) -> Dataset:
    """Deal all clips anew: the first rule that takes a clip names its split, `train` the rest.

    Raises:
        DataError: If a rule takes no clip, or its groups cannot be found.
    """
    ids = {name: list(split.ids) for name, split in dataset.splits.items()}
    taken: dict[str, str] = {}
    for split, rule in rules.items():
        chosen = rule.chosen(ids) - taken.keys()
        if not chosen:
            raise DataError(
                "no clip is left for this split by its rule",
                split=split,
                fix=f"Ids look like {next(iter(next(iter(ids.values()))))!r}.",
            )
        taken |= dict.fromkeys(chosen, split)
    return split_by(dataset, lambda clip_id: taken.get(clip_id, "train"))
