"""Make splits for data that came without them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.split_names import SPLITS
from mmalign.data.task import Labels
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
    chosen: dict[str, list[tuple[Split, int]]] = {name: [] for name in SPLITS}
    for split in dataset.splits.values():
        for row, clip_id in enumerate(split.ids):
            name = choose(clip_id)
            if name is not None and name not in chosen:
                raise DataError(
                    f"no split is called {name!r}",
                    clip=clip_id,
                    fix=f"Answer {', '.join(SPLITS)}, or None to leave the clip out.",
                )
            if name is not None:
                chosen[name].append((split, row))
    splits = {name: _collect(rows, dataset) for name, rows in chosen.items() if rows}
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


def _collect(rows: Sequence[tuple[Split, int]], dataset: Dataset) -> Split:
    collected = Split(
        ids=tuple(split.ids[row] for split, row in rows),
        labels=_labels(rows, dataset),
        sequences={m: [split.sequences[m][row] for split, row in rows] for m in dataset.dims},
        words=_optional([(split.words, row) for split, row in rows]),
        times=_optional([(split.times, row) for split, row in rows]),
    )
    return collected.checked_finite() if dataset.is_finite else collected


def _labels(rows: Sequence[tuple[Split, int]], dataset: Dataset) -> Labels | None:
    if any(split.labels is None for split, _ in rows):
        return None
    values = [split.labels[row] for split, row in rows if split.labels is not None]
    return np.array(values, dtype=dataset.task.dtype)


def _optional(column: Sequence[tuple[Sequence[Any] | None, int]]) -> list[Any] | None:
    if all(values is None for values, _ in column):
        return None
    return [None if values is None else values[row] for values, row in column]
