"""Runs of steps are taken out of sequences, as when a sensor drops frames."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int64

from mmalign.data.clip import Observed, Steps
from mmalign.data.dataset import Dataset
from mmalign.data.gaps import observed_in, with_gaps
from mmalign.data.missingness.masks import Masks, Missingness, require_known
from mmalign.data.missingness.ranks import digest_of
from mmalign.data.split import Split
from mmalign.errors import ConfigError, DataError, located

Runs = tuple[tuple[int, int], ...]
"""First step and number of steps of each run."""


@dataclass(frozen=True, kw_only=True)
class GapProtocol(Missingness, kind="gaps"):
    """Every sequence of every modality loses runs of steps, in all splits alike.

    Runs begin anywhere; their lengths are geometric, and those that meet become one. A sequence
    of n steps loses rate * n of them, rounded up or down by chance, and keeps at least one; steps
    that were missing before count. It follows from seed, modality, id and length alone. What is
    missing at a rate is missing at every higher one.

    Attributes:
        rate: Share of the steps that are missing.
        mean_length: Mean length of a run, before the sequence's end and other runs cut it.
        seed: Another seed, other runs.
    """

    rate: float
    mean_length: float
    seed: int = 0

    def __post_init__(self) -> None:
        problems = []
        if not 0 <= self.rate < 1:
            problems.append(f"rate must be in [0, 1), got {self.rate}; try 0.3")
        if not 1 <= self.mean_length < np.inf:
            problems.append(f"mean_length must be >= 1, got {self.mean_length}; try 5")
        if problems:
            raise ConfigError(problems)

    def masks(self, dataset: Dataset) -> Masks["GapProtocol"]:
        """For each split, modality and id, the runs that are missing after all."""
        missing = {
            split_name: {name: self._missing(split, name) for name in dataset.dims}
            for split_name, split in dataset.splits.items()
        }
        return Masks(self, missing)

    def _missing(self, split: Split, modality: str) -> dict[str, Runs]:
        rows = zip(split.ids, split.observed(modality), strict=True)
        found = {i: runs_of(~self._observed(modality, i, o)) for i, o in rows if o is not None}
        return {clip_id: runs for clip_id, runs in found.items() if runs}

    def _observed(self, modality: str, clip_id: str, observed: Observed) -> Observed:
        """Which steps are still there, of those that were."""
        seed = int.from_bytes(digest_of(self.seed, f"{modality}:{clip_id}"), "little")
        random = np.random.default_rng(seed)
        total = int(self.rate * len(observed) + random.random())
        there = int(observed.sum())
        losses = min(total - (len(observed) - there), there - 1)
        left = observed.copy()
        for run in self._runs(random, len(observed)):
            if losses <= 0:
                break
            hit = run[left[run]][:losses]
            left[hit] = False
            losses -= len(hit)
        return left

    def _runs(self, random: np.random.Generator, steps: int) -> Iterator[Int64[np.ndarray, " run"]]:
        """Runs without end, the same ones whatever the rate."""
        while True:
            start = int(random.random() * steps)
            length = int(random.geometric(1 / self.mean_length))
            yield np.arange(start, min(start + length, steps))

    def without(self, dataset: Dataset, missing: Mapping[str, Any]) -> Dataset:
        """The same clips; steps of these runs become NaN.

        Raises:
            DataError: If a clip or a step is not in the data.
        """
        dataset.require(*(name for found in missing.values() for name in found))
        splits = {}
        for name, split in dataset.splits.items():
            with located(split=name):
                splits[name] = _torn(split, missing.get(name, {}))
        return replace(dataset, splits=splits)

    @staticmethod
    def read(missing: Any) -> dict[str, dict[str, dict[str, Runs]]]:
        """For each split, modality and id, the runs that are missing."""
        return {
            str(split): {
                str(name): {
                    str(i): tuple((int(start), int(length)) for start, length in runs)
                    for i, runs in clips.items()
                }
                for name, clips in found.items()
            }
            for split, found in missing.items()
        }


def runs_of(is_gap: Observed) -> Runs:
    """First step and length of each run of gaps.

    >>> runs_of(np.array([True, False, True, True]))
    ((0, 1), (2, 2))
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_gap, [False]]).astype(np.int8)))
    starts, stops = edges[::2].tolist(), edges[1::2].tolist()
    return tuple((start, stop - start) for start, stop in zip(starts, stops, strict=True))


def _torn(split: Split, missing: Mapping[str, Mapping[str, Runs]]) -> Split:
    columns = dict(split.sequences)
    for name, runs in missing.items():
        with located(modality=name):
            require_known(split, runs)
            rows = zip(split.ids, split.sequences[name], strict=True)
            columns[name] = [_without_runs(i, steps, runs.get(i, ())) for i, steps in rows]
    return split.with_known_features(sequences=columns, gapped=split.gapped.union(missing))


def _without_runs(
    clip_id: str, steps: Steps | None, runs: Sequence[tuple[int, int]]
) -> Steps | None:
    if steps is None:
        return None
    left = observed_in(steps)
    for start, length in runs:
        if not 0 <= start < start + length <= len(steps):
            raise DataError(
                f"the masks name steps {start} to {start + length - 1} of {len(steps)}",
                clip=clip_id,
                fix="These masks were made for another dataset.",
            )
        left[start : start + length] = False
    return with_gaps(steps, left)
