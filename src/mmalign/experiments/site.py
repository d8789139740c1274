"""Where jobs work: the directory of a grid or a search, and how a worker gets at the data."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from mmalign.data.dataset import Dataset
from mmalign.data.loading import open_dataset
from mmalign.data.non_finite import Policy, apply_policy
from mmalign.data.readers import ReadOptions
from mmalign.errors import DataError

RUNS, ERRORS = "runs", "errors"


@dataclass(frozen=True)
class Source:
    """How to get at the data: the arguments of `load_dataset`."""

    path: str
    non_finite: str = "reject"
    label: str | None = None
    vectors: str | None = None

    def load(self, splits: Collection[str] | None = None) -> Dataset:
        """Load the data; splits other than these leave before anything looks at their features.

        Raises:
            DataError: If it cannot be read, is not sound, or is not finite under `reject`.
        """
        vectors = None if self.vectors is None else Path(self.vectors)
        dataset = open_dataset(self.path, ReadOptions(label=self.label, vectors=vectors))
        if splits is not None:
            seen = {name: split for name, split in dataset.splits.items() if name in splits}
            dataset = replace(dataset, splits=seen)
        try:
            return apply_policy(dataset, cast(Policy, self.non_finite))
        except DataError as error:
            raise error.located(file=Path(self.path)) from None


@dataclass(frozen=True)
class Site:
    """What a worker must know; directory and data must be there where it works.

    Attributes:
        folder: The directory of the grid or search.
        source: Where the data is.
        data_hash: Hash of the data that the jobs were planned for.
        splits: Splits that the jobs may see; all if None.
        device: Where to compute.
    """

    folder: Path
    source: Source
    data_hash: str
    splits: tuple[str, ...] | None = None
    device: str = "cpu"

    def run_folder(self, address: str) -> Path:
        """Where a job works and leaves its result."""
        return self.folder / RUNS / address

    def error_file(self, address: str) -> Path:
        """Where the error of a job that failed is kept."""
        return self.folder / ERRORS / f"{address}.json"
