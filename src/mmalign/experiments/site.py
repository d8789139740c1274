"""Where jobs work: the directory of a grid or a search, and how a worker gets at the data."""

from dataclasses import dataclass
from pathlib import Path

from mmalign.experiments.source import Source

RUNS, ERRORS = "runs", "errors"


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
