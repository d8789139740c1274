"""Folders: the files in one tell what it holds."""

from collections.abc import Callable, Sequence
from pathlib import Path

from mmalign.data.dataset import Dataset
from mmalign.data.readers import csd, meld_csv, npy_folder, npz, resplit
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.pickled import read_split_files
from mmalign.data.readers.vectors import BESIDE
from mmalign.data.split_names import in_order, split_of
from mmalign.errors import DataError

PICKLES = (".pkl", ".pickle")
DATA = (*PICKLES, ".npz", ".csv")

EXPECTED = (
    "Expected train.pkl, dev.pkl, test.pkl; or .csd files; or one data file; or Parquet files like "
    "train-00000.parquet. docs/formats.md lists every format."
)

ReadFile = Callable[[Path, ReadOptions], Dataset]


def read_folder(path: Path, options: ReadOptions, read_file: ReadFile) -> Dataset:
    """Read a folder of files that belong together, or the one data file in it.

    Raises:
        DataError: If the folder holds no data, or more than one dataset.
    """
    files = sorted(file for file in path.iterdir() if not file.name.startswith("."))
    if any(file.suffix == ".csd" for file in files):
        return csd.read_folder(path, options)
    group = resplit.find_group(path)
    if group is not None:
        return resplit.read_group(group, options)
    if npy_folder.recognises(path):
        return npy_folder.read_folder(path, options)
    pickles = _split_files(files, PICKLES)
    if pickles:
        return read_split_files(pickles, options)
    archives = _split_files(files, (".npz",))
    if archives:
        return npz.read_files(archives, options)
    tables = [file for file in files if file.suffix == ".csv" and meld_csv.recognises(file)]
    if tables:
        return meld_csv.read_files(tables, options)
    return read_file(_only_file(path, files), options)


def _split_files(files: Sequence[Path], suffixes: Sequence[str]) -> dict[str, Path]:
    """Files that are named for their split."""
    found: dict[str, Path] = {}
    for file in files:
        split = split_of(file.stem) if file.suffix.lower() in suffixes else None
        if split is None or file.stem.endswith("_word_times"):
            continue
        if split in found:
            raise DataError(
                f"both {found[split].name} and {file.name} are of split {split}",
                fix="Give one of them, or a folder with one file for each split.",
            )
        found[split] = file
    return in_order(found)


def _only_file(path: Path, files: Sequence[Path]) -> Path:
    beside = {file for pattern in BESIDE for file in path.glob(pattern)}
    candidates = [f for f in files if f.suffix.lower() in DATA and f not in beside]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = ", ".join(file.name for file in candidates[:8])
        raise DataError(f"several data files: {names}", file=path, fix="Give one of them.")
    names = ", ".join(file.name for file in files[:8])
    raise DataError(
        f"a directory without splits or other data ({names or 'empty'})", file=path, fix=EXPECTED
    )
