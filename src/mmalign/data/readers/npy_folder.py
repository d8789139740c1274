"""A folder of `.npy` files, one per clip and modality, with a CSV of labels.

`labels.csv` has a line for each clip: `id`, `label` and, optionally, `split`. The sequence of clip
`ID` in modality `M` is `M/ID.npy`, an array `[time, dim]`; where there is no such file, the
modality is missing.
"""

import csv
import io
from pathlib import Path

import numpy as np

from mmalign.data.arrays import read_npy
from mmalign.data.clip import Steps
from mmalign.data.dataset import Dataset
from mmalign.data.pickles import map_file
from mmalign.data.readers.columns import Column, to_float32
from mmalign.data.readers.labels import Numbers, choose_name, encode_labels, infer_task
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.splits import ALL_TRAIN, SPLIT_NAMES
from mmalign.data.readers.values import to_array
from mmalign.data.split import Split
from mmalign.data.task import Regression
from mmalign.errors import DataError
from mmalign.progress import track

Records = list[dict[str, str]]


def recognises(path: Path) -> bool:
    """Whether there is a CSV with a column `id`, and a folder of arrays."""
    return _labels_file(path) is not None and bool(_modalities(path))


def read_folder(path: Path, options: ReadOptions) -> Dataset:
    """Read the folder; arrays are opened when they are asked for.

    Raises:
        DataError: If the CSV or an array is not readable, or a clip has no array at all.
    """
    file = _labels_file(path)
    if file is None:
        raise DataError("no CSV with a column `id`", file=path)
    records = _records(file)
    names = [n for n in records[0] if n not in ("id", "split")]
    key = _label_key(names, options.label)
    values = None if key is None else _values([record[key] for record in records])
    task = Regression() if values is None else infer_task(values)
    ids = [record["id"] for record in records]
    dims = {folder.name: _common_dim(folder, ids) for folder in _modalities(path)}
    used = {name: dim for name, dim in dims.items() if dim is not None}
    splits = {}
    for name, rows in _rows_by_split(records, file).items():
        members = [ids[row] for row in rows]
        splits[name] = Split(
            ids=tuple(members),
            labels=None if values is None else encode_labels(_picked(values, rows), task, members),
            sequences={modality: _column(path / modality, members) for modality in used},
        )
    return Dataset(task, used, splits, () if "split" in records[0] else (ALL_TRAIN,))


def _labels_file(path: Path) -> Path | None:
    """`labels.csv`, or any other CSV whose header has a column `id`."""
    for file in sorted(path.glob("*.csv"), key=lambda f: (f.name != "labels.csv", f.name)):
        with file.open("rb") as stream:
            header = stream.readline(4096).decode("utf-8-sig", "replace")
        if "id" in [name.strip() for name in header.split(",")]:
            return file
    return None


def _modalities(path: Path) -> list[Path]:
    """Folders with arrays in them."""
    folders = sorted(folder for folder in path.iterdir() if folder.is_dir())
    return [folder for folder in folders if next(folder.glob("*.npy"), None) is not None]


def _records(file: Path) -> Records:
    try:
        text = bytes(map_file(file)).decode("utf-8-sig")
        records = list(csv.DictReader(io.StringIO(text), skipinitialspace=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"not a readable CSV file ({error})", file=file) from error
    for number, record in enumerate(records):
        if None in record or None in record.values():
            raise DataError(f"line {number + 2} has another number of columns", file=file)
        if "/" in record["id"] or record["id"] in ("", ".", ".."):
            raise DataError(f"line {number + 2}: {record['id']!r} is no id", file=file)
    if not records:
        raise DataError("a CSV without clips", file=file)
    return records


def _label_key(names: list[str], wanted: str | None) -> str | None:
    if wanted is not None:
        return choose_name(names, wanted)
    if "label" in names or len(names) <= 1:
        return "label" if "label" in names else next(iter(names), None)
    raise DataError(
        f"any of {', '.join(names)} could be the label",
        fix="Choose one with --label NAME, or call the column `label`.",
    )


def _values(texts: list[str]) -> list[str] | Numbers:
    """Integers, numbers, or names, whichever all labels are."""
    for kind in (np.int64, np.float64):
        try:
            return np.array(texts, dtype=kind)
        except (ValueError, OverflowError):
            continue
    return texts


def _picked(values: list[str] | Numbers, rows: list[int]) -> list[str] | Numbers:
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]


def _column(folder: Path, ids: list[str]) -> Column:
    def make(index: int) -> Steps | None:
        file = folder / f"{ids[index]}.npy"
        if not file.is_file():
            return None
        array = read_npy(file)
        try:
            # One vector stands for a sequence of one step.
            steps = to_array(array[None] if array.ndim == 1 else array, dims=2)
        except DataError as error:
            raise error.located(file=file, clip=ids[index], modality=folder.name) from None
        return to_float32(steps)

    return Column(len(ids), make)


def _common_dim(folder: Path, ids: list[str]) -> int | None:
    """The dim that all arrays of a modality share; opens each of them once."""
    column = track(_column(folder, ids), f"opening {folder.name}", total=len(ids))
    dim: int | None = None
    for clip_id, steps in zip(ids, column, strict=True):
        if steps is not None and dim not in (None, steps.shape[1]):
            file = folder / f"{clip_id}.npy"
            problem = f"dim is {steps.shape[1]}, in the clips before {dim}"
            raise DataError(problem, file=file, clip=clip_id, modality=folder.name)
        dim = dim if steps is None else int(steps.shape[1])
    return dim


def _rows_by_split(records: Records, file: Path) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {"train": [], "valid": [], "test": []}
    for number, record in enumerate(records):
        name = SPLIT_NAMES.get(record.get("split", "train").strip().lower())
        if name is None:
            raise DataError(
                f"line {number + 2}: unknown split {record['split'][:40]!r}",
                file=file,
                fix="Expected train, valid or test.",
            )
        rows[name].append(number)
    return {name: members for name, members in rows.items() if members}
