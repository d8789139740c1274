"""The paper's protocol: which clips lose their victim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmalign.data.dataset import Dataset
from mmalign.data.missingness.masks import PAIR, Masks, Missingness, require_known
from mmalign.data.missingness.ranks import exact_floor, surviving_ids
from mmalign.data.split import Split
from mmalign.errors import ConfigError, DataError, located

SETTINGS = ("A", "B")
"""How much of valid and test is missing: see `PairProtocol.setting`."""


@dataclass(frozen=True, kw_only=True)
class PairProtocol(Missingness, kind=PAIR):
    """Which clips lose which modality (paper, section "Problem Definition").

    Attributes:
        visible: The modality that is always there.
        victim: The modality that may be missing.
        survival: Share of clips that keep the victim (the paper's p); exactly floor(p * n) do.
        setting: "A": the victim is missing in all of valid and test; "B": it survives there at the
            same rate as in training.
        seed: Another seed, other victims.
    """

    visible: str
    victim: str
    survival: float
    setting: str = "A"
    seed: int = 0

    def __post_init__(self) -> None:
        problems = []
        if self.visible == self.victim:
            problems.append(f"visible and victim are both {self.visible!r}; choose two modalities")
        if not 0 < self.survival <= 1:
            problems.append(f"survival must be in (0, 1], got {self.survival}; try 0.1")
        if self.setting not in SETTINGS:
            problems.append(f"setting must be A or B, got {self.setting!r}")
        if problems:
            raise ConfigError(problems)

    def masks(self, dataset: Dataset) -> Masks["PairProtocol"]:
        """Ids that lose their victim, split by split.

        Raises:
            DataError: If a modality is not in the data, or a clip lacks the visible one.
        """
        dataset.require(self.visible, self.victim)
        missing = {}
        for name, split in dataset.splits.items():
            has_victim = split.is_present(self.victim)
            keeps = surviving_ids(
                [i for i, present in zip(split.ids, has_victim, strict=True) if present],
                count=self.survivors(name, len(split)),
                seed=self.seed,
            )
            missing[name] = tuple(clip_id for clip_id in split.ids if clip_id not in keeps)
        return Masks(self, missing)

    def survivors(self, split: str, clips: int) -> int:
        """How many of a split's clips keep the victim, if all of them have it.

        >>> PairProtocol(visible="text", victim="audio", survival=0.1).survivors("train", 1284)
        128
        """
        rate = 0.0 if self.setting == "A" and split != "train" else self.survival
        return exact_floor(rate, clips)

    def without(self, dataset: Dataset, missing: Mapping[str, Sequence[str]]) -> Dataset:
        """The pair of modalities; clips named here lose the victim's arrays.

        Raises:
            DataError: If a clip is not in the data, or would be left without any modality.
        """
        pair = dataset.only([self.visible, self.victim])
        splits = {}
        for name, split in pair.splits.items():
            gone = frozenset(missing.get(name, ()))
            with located(split=name):
                require_known(split, gone)
                self._require_visible(split)
            splits[name] = split.without(self.victim, gone)
        return replace(pair, splits=splits)

    def _require_visible(self, split: Split) -> None:
        is_visible = split.is_present(self.visible)
        if not is_visible.all():
            raise DataError(
                "the visible modality is missing",
                clip=split.ids[int(is_visible.argmin())],
                modality=self.visible,
                fix="Swap visible and victim, or leave the clip out.",
            )

    @staticmethod
    def read(missing: Any) -> dict[str, tuple[str, ...]]:
        """Ids that lose their victim, split by split."""
        return {str(split): tuple(map(str, ids)) for split, ids in missing.items()}


Protocol = PairProtocol
"""The name that the paper's protocol had before there were others."""
