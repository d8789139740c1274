"""Which clips lose their victim: a pure function of ids, rate and seed."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from hashlib import blake2b
from os import PathLike
from pathlib import Path

from mmalign.data.dataset import Dataset
from mmalign.data.pickles import map_file
from mmalign.errors import ConfigError, DataError, located
from mmalign.files import write_atomically

SETTINGS = ("A", "B")
"""How much of valid and test is missing: see `Protocol.setting`."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
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

    def masks(self, dataset: Dataset) -> "Masks":
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

        >>> Protocol(visible="text", victim="audio", survival=0.1).survivors("train", 1284)
        128
        """
        rate = 0.0 if self.setting == "A" and split != "train" else self.survival
        return _exact_floor(rate, clips)

    def apply(self, dataset: Dataset) -> Dataset:
        """The pair of modalities, without the arrays that the protocol takes away.

        Raises:
            DataError: If a modality is not in the data, or a clip lacks the visible one.
        """
        return self.masks(dataset).apply(dataset)


@dataclass(frozen=True)
class Masks:
    """The protocol's outcome: for each split, the ids without their victim, in split order."""

    protocol: Protocol
    missing: Mapping[str, Sequence[str]]

    def apply(self, dataset: Dataset) -> Dataset:
        """The pair of modalities; clips named here lose the victim's arrays.

        Raises:
            DataError: If the masks name a clip that is not in the data, or a clip would be left
                without any modality.
        """
        pair = dataset.only([self.protocol.visible, self.protocol.victim])
        splits = {}
        for name, split in pair.splits.items():
            gone = frozenset(self.missing.get(name, ()))
            unknown = gone.difference(split.ids)
            if unknown:
                raise DataError(
                    "the masks name a clip that is not in the data",
                    split=name,
                    clip=min(unknown),
                    fix="These masks were made for another dataset.",
                )
            splits[name] = split.without(self.protocol.victim, gone)
            is_visible = split.is_present(self.protocol.visible)
            if not is_visible.all():
                raise DataError(
                    "the visible modality is missing",
                    split=name,
                    clip=split.ids[int(is_visible.argmin())],
                    modality=self.protocol.visible,
                    fix="Swap visible and victim, or leave the clip out.",
                )
        return replace(pair, splits=splits)

    def save(self, file: str | PathLike[str]) -> None:
        """Write the protocol and every missing id, so that the same masks can be loaded again."""
        content = {"protocol": asdict(self.protocol), "missing": dict(self.missing)}
        write_atomically(Path(file), (json.dumps(content, indent=1, default=list) + "\n").encode())

    @staticmethod
    def load(file: str | PathLike[str]) -> "Masks":
        """The masks that `save` wrote.

        Raises:
            DataError: If the file is not such a file.
        """
        with located(file=Path(file)):
            return Masks.parse(bytes(map_file(Path(file))))

    @staticmethod
    def parse(content: bytes) -> "Masks":
        """The masks in the bytes of a file that `save` wrote.

        Raises:
            DataError: If they are not such bytes.
        """
        try:
            parsed = json.loads(content)
            missing = {str(k): tuple(map(str, ids)) for k, ids in parsed["missing"].items()}
            return Masks(Protocol(**parsed["protocol"]), missing)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            fix = "Give a file that Masks.save or `mmalign train` wrote."
            raise DataError(f"not a masks file ({error})", fix=fix) from error


def surviving_ids(ids: Sequence[str], *, count: int, seed: int) -> frozenset[str]:
    """The `count` ids that keep their victim: a larger count contains a smaller one.

    Ranked by a keyed hash of the id, so that order, process and hash seed cannot disturb it.
    """
    ranked = sorted(ids, key=lambda i: blake2b(f"{seed}:{i}".encode(), digest_size=8).digest())
    return frozenset(ranked[:count])


def _exact_floor(rate: float, n: int) -> int:
    """floor(rate * n) of the decimal the user wrote: 0.29 of 100 is 29, not 28."""
    return math.floor(Fraction(repr(rate)) * n)
