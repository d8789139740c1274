"""Split data into train, valid and test."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b

from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.split_names import SPLITS
from mmalign.data.validation import validate
from mmalign.errors import ConfigError, DataError


def split_by(dataset: Dataset, choose: Callable[[str], str | None]) -> Dataset:
    """Assign all clips to new splits.

    Args:
        dataset: Clips in any splits.
        choose: Function from a clip's id to `train`, `valid` or `test`; None leaves the clip out.

    Raises:
        DataError: If it names another split, or leaves every clip out.

    >>> from mmalign.data import load_dataset
    >>> twin = load_dataset("twin")
    >>> small = split_by(twin, lambda clip_id: "test" if clip_id.endswith("7") else "train")
    >>> list(small.splits)
    ['train', 'test']
    """
    chosen: dict[str, list[Split]] = {name: [] for name in SPLITS}
    for split in dataset.splits.values():
        rows: dict[str | None, list[int]] = {}
        for row, clip_id in enumerate(split.ids):
            name = choose(clip_id)
            if name is not None and name not in chosen:
                raise DataError(
                    f"no split is called {name!r}",
                    clip=clip_id,
                    fix=f"Return {', '.join(SPLITS)}, or None to leave the clip out.",
                )
            rows.setdefault(name, []).append(row)
        for name in SPLITS:
            if name in rows:
                chosen[name].append(split.select(rows[name]))
    splits = {name: Split.joined(parts) for name, parts in chosen.items() if parts}
    return validate(replace(dataset, splits=splits))


def random_split(*, valid: float = 0.1, test: float = 0.2, seed: int = 0) -> Callable[[str], str]:
    """Make a rule for `split_by` that assigns clips at random, the same on every machine.

    It depends on ids alone, so neither order nor other clips matter; shares are met on average.

    Raises:
        ConfigError: If the shares are not between 0 and 1.

    >>> choose = random_split(valid=0.1, test=0.2)
    >>> choose("clip-00001") == choose("clip-00001")
    True
    """
    _check_shares(valid, test)

    def choose(clip_id: str) -> str:
        drawn = _drawn(f"{seed}:{clip_id}") / 2**64
        return "test" if drawn < test else "valid" if drawn < test + valid else "train"

    return choose


def split_by_group(
    dataset: Dataset,
    *,
    valid: float = 0.1,
    test: float = 0.2,
    seed: int = 0,
    groups: Callable[[str], str] | None = None,
) -> Dataset:
    """Assign all clips to new splits so that each group, person or video, is in one of them.

    A hash orders the groups, and each split takes groups until its share of clips is reached as
    nearly as possible. Each split gets at least one group.

    Args:
        dataset: Clips in any splits.
        valid: Share of clips for validation; 0 leaves the split out.
        test: Share of clips for testing.
        seed: Seed of the order.
        groups: Function from a clip's id to its group. Default: the groups of the clips.

    Raises:
        ConfigError: If the shares leave nothing for train.
        DataError: If groups are not known, or there are too few of them.
    """
    _check_shares(valid, test)
    members = group_members(dataset, groups)
    shares = {name: share for name, share in (("test", test), ("valid", valid)) if share > 0}
    if len(members) <= len(shares):
        raise DataError(
            f"{len(shares) + 1} splits need as many groups, there are {len(members)}",
            fix="Ask for fewer splits: a share of 0 leaves one out.",
        )
    ranked = sorted(members, key=lambda group: _drawn(f"{seed}:{group}"))
    total = sum(map(len, members.values()))
    chosen: dict[str, str] = {}
    for place, (name, share) in enumerate(shares.items()):
        kept = len(shares) - place  # groups that later splits and train need
        count = 0
        while ranked[kept:] and (not count or count + len(members[ranked[0]]) / 2 <= share * total):
            group = ranked.pop(0)
            count += len(members[group])
            chosen |= dict.fromkeys(members[group], name)
    return split_by(dataset, lambda clip_id: chosen.get(clip_id, "train"))


def group_members(
    dataset: Dataset, groups: Callable[[str], str] | None = None
) -> dict[str, list[str]]:
    """The ids of each group's clips.

    Raises:
        DataError: If neither the data nor `groups` names the groups.
    """
    members: dict[str, list[str]] = {}
    for name, split in dataset.splits.items():
        if groups is None and split.groups is None:
            raise DataError(
                "the data does not name the person or video of each clip",
                split=name,
                fix="Add a column 'group' (person or video), or give a pattern: --by '^(.*?)-'.",
            )
        known = split.groups if groups is None else [groups(clip_id) for clip_id in split.ids]
        for clip_id, group in zip(split.ids, known or (), strict=True):
            members.setdefault(group, []).append(clip_id)
    return members


def with_test_from(dataset: Dataset, other: Dataset) -> Dataset:
    """The splits of a dataset but test, and all clips of another as its test split.

    Raises:
        DataError: If the two differ in task or dims, or share a group or an id.
    """
    if (other.task, dict(other.dims)) != (dataset.task, dict(dataset.dims)):
        raise DataError(
            "the test clips have another task or other modalities",
            split="test",
            fix="Store both in the same way; `mmalign data inspect` shows what differs.",
        )
    test = Split.joined([other[name] for name in other.splits])
    kept = {name: split for name, split in dataset.splits.items() if name != "test"}
    for name, split in kept.items():
        shared = set(split.groups or ()) & set(test.groups or ())
        if shared:
            raise DataError(
                f"group {min(shared)!r} is in {name} as well",
                split="test",
                fix="Test on people or videos that the training has not seen.",
            )
    return validate(replace(dataset, splits={**kept, "test": test}))


def _check_shares(valid: float, test: float) -> None:
    if not (valid >= 0 and test >= 0 and valid + test < 1):  # NaN is no share
        raise ConfigError(
            f"valid {valid} and test {test} must be at least 0, and leave something for train"
        )


def _drawn(text: str) -> int:
    """A number drawn by a hash, the same on every machine."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
