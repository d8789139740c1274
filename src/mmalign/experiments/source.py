"""Where a grid's data comes from: all that every worker must do to see the same clips."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from mmalign.data.dataset import Dataset
from mmalign.data.loading import open_dataset
from mmalign.data.non_finite import Policy, apply_policy
from mmalign.data.parts import parted
from mmalign.data.readers import ReadOptions
from mmalign.data.resampling import resampled
from mmalign.data.split_rules import SplitRule, deal
from mmalign.errors import located


@dataclass(frozen=True)
class Source:
    """A dataset, and what is done to it before anything else.

    Attributes:
        path: A file or directory, or the name of a built-in dataset.
        non_finite: What to do about NaN and infinity.
        label: Which label to take where there are several.
        vectors: Word vectors for files that store words only.
        splits: Rules that deal the clips anew, by split; none leaves the splits as they are.
        parts: Modalities to take apart: names of the parts, each with its first feature and end.
        steps: The number of steps that every sequence is averaged to; none leaves them as they are.
    """

    path: str
    non_finite: str = "reject"
    label: str | None = None
    vectors: str | None = None
    splits: Mapping[str, SplitRule] = field(default_factory=dict, hash=False)
    parts: Mapping[str, Mapping[str, Sequence[int]]] = field(default_factory=dict, hash=False)
    steps: int | None = None

    def load(self, names: Collection[str] | None = None) -> Dataset:
        """Read the data; splits other than these leave before anything looks at their features.

        Raises:
            DataError: If it cannot be read, is not sound or not finite, or a rule does not fit it.
        """
        vectors = None if self.vectors is None else Path(self.vectors)
        dataset = open_dataset(self.path, ReadOptions(label=self.label, vectors=vectors))
        if self.splits:
            dataset = deal(dataset, self.splits)
        if names is not None:
            seen = {name: split for name, split in dataset.splits.items() if name in names}
            dataset = replace(dataset, splits=seen)
        with located(file=self.path):
            dataset = apply_policy(dataset, cast(Policy, self.non_finite))
            dataset = parted(dataset, self.parts) if self.parts else dataset
        return dataset if self.steps is None else resampled(dataset, self.steps)

    def to_json(self) -> dict[str, Any]:
        """The source as plain values."""
        return asdict(self)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> "Source":
        """The source that `to_json` wrote."""
        rules = {name: SplitRule(**rule) for name, rule in content["splits"].items()}
        return Source(**{**content, "splits": rules})


def absolute(path: str) -> str:
    """Make a path absolute, as workers may run elsewhere; names of built-in sets stay."""
    return str(Path(path).absolute()) if Path(path).exists() else path
