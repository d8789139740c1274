"""One reader per file format; `read` tells them apart by content."""

from dataclasses import dataclass
from pathlib import Path

from mmalign.data.dataset import Dataset
from mmalign.data.native import is_native, read_native
from mmalign.errors import DataError


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What a file leaves open and its user may decide.

    Attributes:
        label: Which label to take where a file has several, e.g. `happy` in MOSEI.
        vectors: File of word vectors for layouts that store word ids or words only.
    """

    label: str | None = None
    vectors: Path | None = None


def read(path: Path, options: ReadOptions) -> Dataset:  # noqa: ARG001
    """Read any supported format; feature values are as in the file.

    Raises:
        DataError: If the path does not exist, or is of no supported format.
    """
    if not path.exists():
        raise DataError("there is no such file or directory", file=path)
    if is_native(path):
        return read_native(path)
    raise DataError(
        "a directory without splits" if path.is_dir() else "not a supported format",
        file=path,
        fix="Expected a directory with files like train-00000.parquet.",
    )
