"""Masks: what a protocol took away from a dataset, as a value and as a file."""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from mmalign.data.dataset import Dataset
from mmalign.data.pickles import map_file
from mmalign.data.split import Split
from mmalign.documents import parse_object
from mmalign.errors import DataError, located
from mmalign.files import write_atomically

PAIR = "pair"
"""The kind of a protocol whose file does not name one."""


class Missingness(ABC):
    """A protocol: says what a dataset loses, and takes it away.

    A class of its own kind, `class Mine(Missingness, kind="mine")`, is a frozen dataclass; its
    masks are saved under that kind and loaded again.
    """

    kind: ClassVar[str]
    kinds: ClassVar[dict[str, type["Missingness"]]] = {}

    def __init_subclass__(cls, kind: str | None = None) -> None:
        if kind is not None:
            cls.kind = kind
            cls.kinds[kind] = cls

    @abstractmethod
    def masks(self, dataset: Dataset) -> "Masks[Any]":
        """What the dataset loses, split by split.

        Raises:
            DataError: If the protocol does not fit the data.
        """

    @abstractmethod
    def without(self, dataset: Dataset, missing: Mapping[str, Any]) -> Dataset:
        """The dataset without what is missing by earlier `masks`.

        Raises:
            DataError: If that does not fit the data.
        """

    @staticmethod
    @abstractmethod
    def read(missing: Any) -> Mapping[str, Any]:
        """What is missing, from its JSON."""

    def apply(self, dataset: Dataset) -> Dataset:
        """The dataset without the arrays that the protocol takes away.

        Raises:
            DataError: If the protocol does not fit the data.
        """
        return self.masks(dataset).apply(dataset)


P = TypeVar("P", bound=Missingness)


@dataclass(frozen=True)
class Masks(Generic[P]):
    """A protocol's outcome: for each split, what is missing, in the protocol's own terms.

    Those of a pair: ids without their victim. Of subsets: for each modality, ids without it. Of
    gaps: for each modality and id, first step and number of steps of every run. In split order.
    """

    protocol: P
    missing: Mapping[str, Any]

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {len(_ids(lost))}" for name, lost in self.missing.items())
        return f"Masks({self.protocol!r}; clips that lost something: {counts})"

    def apply(self, dataset: Dataset) -> Dataset:
        """The dataset without what is missing: arrays are dropped, not zeroed.

        Raises:
            DataError: If the masks name a clip that is not in the data, or a clip would be left
                without any modality.
        """
        return self.protocol.without(dataset, self.missing)

    def save(self, file: str | PathLike[str]) -> None:
        """Write the protocol and all that is missing, so that the masks can be loaded again."""
        kind = {} if self.protocol.kind == PAIR else {"kind": self.protocol.kind}
        protocol = kind | asdict(self.protocol)  # type: ignore[call-overload]
        content = {"protocol": protocol, "missing": dict(self.missing)}
        write_atomically(Path(file), (json.dumps(content, indent=1, default=list) + "\n").encode())

    @staticmethod
    def load(file: str | PathLike[str]) -> "Masks[Any]":
        """The masks that `save` wrote.

        Raises:
            DataError: If the file is not such a file.
        """
        with located(file=Path(file)):
            return Masks.parse(bytes(map_file(Path(file))))

    @staticmethod
    def parse(content: bytes) -> "Masks[Any]":
        """The masks in the bytes of a file that `save` wrote.

        Raises:
            DataError: If they are not such bytes.
        """
        try:
            parsed = parse_object(content)
            settings = dict(parsed["protocol"])
            protocol = Missingness.kinds[settings.pop("kind", PAIR)]
            return Masks(protocol(**settings), protocol.read(parsed["missing"]))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            fix = "Give a file that Masks.save or `mmalign train` wrote."
            raise DataError(f"not a masks file ({error})", fix=fix) from error


def require_known(split: Split, ids: Collection[str]) -> None:
    """Check that the split has clips of these ids.

    Raises:
        DataError: If it lacks one.
    """
    unknown = set(ids).difference(split.ids)
    if unknown:
        raise DataError(
            "the masks name a clip that is not in the data",
            clip=min(unknown),
            fix="These masks were made for another dataset.",
        )


def _ids(lost: Any) -> set[str]:
    """Clips that lost something, from their ids, or from those of each modality."""
    return set().union(*lost.values()) if isinstance(lost, Mapping) else set(lost)
