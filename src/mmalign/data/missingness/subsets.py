"""Whole modalities are taken away from clips; every clip keeps at least one.

A modality that a clip lacks anyway counts as taken. Which clips lose what follows from a hash of
seed, modality and id, so that the order of clips and modalities does not matter.
"""

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmalign.data.dataset import Dataset
from mmalign.data.missingness.masks import Masks, Missingness, require_known
from mmalign.data.missingness.ranks import exact, exact_floor, ranked, ranked_entries
from mmalign.data.split import Split
from mmalign.errors import ConfigError, DataError, located

Holdings = dict[str, set[str]]
"""For each clip's id, the modalities that it has."""


class _OfModalities(Missingness):
    """What the protocols of this file share: their masks name ids for each modality."""

    def masks(self, dataset: Dataset) -> Masks[Any]:
        """For each split and modality, the ids without it.

        Raises:
            DataError: If the protocol does not fit the data.
        """
        self._require(dataset)
        missing = {}
        for name, split in dataset.splits.items():
            holdings = _holdings(split)
            self._take(holdings, sorted(dataset.dims))
            missing[name] = {
                modality: tuple(i for i in split.ids if modality not in holdings[i])
                for modality in dataset.dims
            }
        return Masks(self, missing)

    def _require(self, dataset: Dataset) -> None:
        """Check that the protocol fits the data."""

    @abstractmethod
    def _take(self, holdings: Holdings, modalities: Sequence[str]) -> None:
        """Take modalities out of the holdings; they are named in alphabetical order."""

    def without(self, dataset: Dataset, missing: Mapping[str, Any]) -> Dataset:
        """The same clips; those named lose the arrays of the modality they are named for.

        Raises:
            DataError: If a clip is not in the data, or would be left without any modality.
        """
        splits = {}
        for name, split in dataset.splits.items():
            with located(split=name):
                splits[name] = _dropped(split, missing.get(name, {}))
        return replace(dataset, splits=splits)

    @staticmethod
    def read(missing: Any) -> dict[str, dict[str, tuple[str, ...]]]:
        """For each split and modality, the ids without it."""
        return {
            str(split): {str(name): tuple(map(str, ids)) for name, ids in found.items()}
            for split, found in missing.items()
        }


@dataclass(frozen=True, kw_only=True)
class SubsetProtocol(_OfModalities, kind="subsets"):
    """Each modality survives at a rate of its own, in all splits alike.

    Exactly floor(rate * n) of a split's clips keep a modality, as far as one modality must stay for
    each clip. Where all rates are lowered by the same factor, what was missing stays missing.

    Attributes:
        survival: Share of clips that keep a modality; one that is not named stays as it is.
        seed: Another seed, other clips.
    """

    survival: Mapping[str, float]
    seed: int = 0

    def __post_init__(self) -> None:
        problems = [] if self.survival else ["survival names no modality; give one, e.g. text=0.5"]
        for name, rate in self.survival.items():
            if not 0 <= rate <= 1:
                problems.append(f"survival of {name} must be in [0, 1], got {rate}; try 0.5")
        if problems:
            raise ConfigError(problems)

    def _require(self, dataset: Dataset) -> None:
        dataset.require(*self.survival)
        if all(self.survival.get(name) == 0 for name in dataset.dims):
            raise DataError(
                "no modality would survive: every clip would lose everything",
                fix="Give at least one of them a rate above 0.",
            )

    def _take(self, holdings: Holdings, modalities: Sequence[str]) -> None:
        ids = list(holdings)
        losable = {
            name: reversed(ranked_entries([name], ids, self.seed))
            for name in modalities
            if name in self.survival
        }
        for name in self._losses(holdings):
            for _, clip_id in losable[name]:
                if name in holdings[clip_id] and len(holdings[clip_id]) > 1:
                    holdings[clip_id].remove(name)
                    break

    def _losses(self, holdings: Holdings) -> Iterator[str]:
        """Modalities in the order in which clips lose them while all rates fall together."""
        n = len(holdings)
        rates = {name: exact(rate) for name, rate in self.survival.items()}
        common = math.lcm(*(rate.numerator for rate in rates.values() if rate))
        losses: list[tuple[bool, int, str]] = []
        for name, rate in rates.items():
            has = sum(name in held for held in holdings.values())
            # With `left` survivors, a factor below left / (rate * n) takes the next one.
            weight = int(common / rate) if rate else common
            lefts = range(has, math.floor(rate * n), -1)
            losses += [(rate > 0, -left * weight, name) for left in lefts]
        return (name for _, _, name in sorted(losses))


@dataclass(frozen=True, kw_only=True)
class PatternProtocol(_OfModalities, kind="patterns"):
    """Named patterns, each for a share of the clips; the others stay as they are.

    Exactly floor(share * n) of a split's clips keep no more than a pattern's modalities, where so
    many have one of these at all. Where all shares grow by the same factor, what was missing stays
    missing.

    Attributes:
        patterns: From the modalities that stay, joined by "+", to the share of clips.
        seed: Another seed, other clips.

    >>> PatternProtocol(patterns={"text": 0.2, "text+visual": 0.3}).patterns["text"]
    0.2
    """

    patterns: Mapping[str, float]
    seed: int = 0

    def __post_init__(self) -> None:
        problems = [
            f"the share of {pattern} must be in [0, 1], got {share}; try 0.2"
            for pattern, share in self.patterns.items()
            if not 0 <= share <= 1
        ]
        if not self.patterns:
            problems.append('there is no pattern; give one, e.g. {"text+visual": 0.5}')
        if not problems and sum(map(exact, self.patterns.values())) > 1:
            problems.append("the shares add up to more than 1; lower some")
        if problems:
            raise ConfigError(problems)

    def _require(self, dataset: Dataset) -> None:
        dataset.require(*(name for pattern in self.patterns for name in pattern.split("+")))

    def _take(self, holdings: Holdings, modalities: Sequence[str]) -> None:  # noqa: ARG002
        order = ranked(holdings, self.seed)
        free = set(order)
        waiting = {pattern: iter(order) for pattern in self.patterns}
        for pattern in self._turns(len(order)):
            keeps = set(pattern.split("+"))
            for clip_id in waiting[pattern]:
                if clip_id in free and holdings[clip_id] & keeps:
                    holdings[clip_id] &= keeps
                    free.remove(clip_id)
                    break

    def _turns(self, n: int) -> Iterator[str]:
        """Patterns in the order in which clips take them on while all shares grow together."""
        turns = [
            (number / exact(share), pattern)
            for pattern, share in self.patterns.items()
            for number in range(1, exact_floor(share, n) + 1)
        ]
        return (pattern for _, pattern in sorted(turns))


@dataclass(frozen=True, kw_only=True)
class RandomMissing(_OfModalities, kind="random"):
    """Any modality of any clip may be missing, as IMDer and GCNet count it, in all splits alike.

    Exactly floor(rate * clips * modalities) sequences are missing, or all but one of each clip if
    that is fewer. What is missing at a rate is missing at every higher one.

    Attributes:
        rate: Share of the sequences that are missing; published tables go from 0.0 to 0.7.
        seed: Another seed, other sequences.
    """

    rate: float
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.rate < 1:
            raise ConfigError(f"rate must be in [0, 1), got {self.rate}; try 0.3")

    def _take(self, holdings: Holdings, modalities: Sequence[str]) -> None:
        entries = len(holdings) * len(modalities)
        more = exact_floor(self.rate, entries) - (entries - sum(map(len, holdings.values())))
        for name, clip_id in reversed(ranked_entries(modalities, list(holdings), self.seed)):
            if more <= 0:
                return
            if name in holdings[clip_id] and len(holdings[clip_id]) > 1:
                holdings[clip_id].remove(name)
                more -= 1


def _holdings(split: Split) -> Holdings:
    present = {name: split.is_present(name).tolist() for name in split.modalities}
    return {
        clip_id: {name for name, has in present.items() if has[row]}
        for row, clip_id in enumerate(split.ids)
    }


def _dropped(split: Split, missing: Mapping[str, Sequence[str]]) -> Split:
    for name, ids in missing.items():
        if name not in split.sequences:
            raise DataError(
                f"the masks name a modality {name!r} that is not in the data",
                fix="These masks were made for another dataset.",
            )
        require_known(split, ids)
        split = split.without(name, frozenset(ids))
    is_left = split.has_any(split.modalities)
    if not is_left.all():
        raise DataError(
            "every modality is missing",
            clip=split.ids[int(is_left.argmin())],
            fix="These masks were made for another dataset.",
        )
    return split
