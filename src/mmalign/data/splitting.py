"""Make splits for data that came without them."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b

from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.split_names import SPLITS
from mmalign.data.validation import validate
from mmalign.errors import ConfigError, DataError


def split_by(dataset: Dataset, choose: Callable[[str], str | None]) -> Dataset:
    """The same clips in new splits.

    Args:
        dataset: Clips in any splits; all of them are dealt anew.
        choose: The split of the clip with this id: `train`, `valid`, `test`; None leaves it out.

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
                    fix=f"Answer {', '.join(SPLITS)}, or None to leave the clip out.",
                )
            rows.setdefault(name, []).append(row)
        for name in SPLITS:
            if name in rows:
                chosen[name].append(split.select(rows[name]))
    splits = {name: Split.joined(parts) for name, parts in chosen.items() if parts}
    return validate(replace(dataset, splits=splits))


def random_split(*, valid: float = 0.1, test: float = 0.2, seed: int = 0) -> Callable[[str], str]:
    """A chooser for `split_by` that deals clips at random, the same way on every machine.

    It looks at ids only, so neither order nor other clips matter; shares are met on average.

    Raises:
        ConfigError: If the shares are not between 0 and 1.

    >>> choose = random_split(valid=0.1, test=0.2)
    >>> choose("clip-00001") == choose("clip-00001")
    True
    """
    if min(valid, test) < 0 or valid + test >= 1:
        raise ConfigError(f"valid {valid} and test {test} must leave something for train")

    def choose(clip_id: str) -> str:
        digest = blake2b(f"{seed}:{clip_id}".encode(), digest_size=8).digest()
        drawn = int.from_bytes(digest, "little") / 2**64
        return "test" if drawn < test else "valid" if drawn < test + valid else "train"

    return choose
