"""A folder of `.npy` files, one per clip and modality, with a CSV of labels.

`labels.csv` has a line for each clip: `id`, `label` and, optionally, `split`. The sequence of clip
`ID` in modality `M` is `M/ID.npy`, an array `[time, dim]`; where there is no such file, the
modality is missing.
"""

import csv
import io
from collections.abc import Mapping, Sequence
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
    ids = [record["id"] for record in records]
    task = Regression() if values is None else infer_task(values)
    whole = Split(
        ids=tuple(ids),
        labels=None if values is None else encode_labels(values, task, ids),
        sequences={m.name: _column(m, ids) for m in _modalities(path)},
    )
    dims = {m.name: _dim(m, ids) for m in _modalities(path)}
    used = {name: dim for name, dim in dims.items() if dim}
    splits, notes = _by_split(whole.only(list(used)), records, file)
    return Dataset(task, used, splits, notes)


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


def _dim(folder: Path, ids: list[str]) -> int | None:
    """Dim of the first array; all others are checked against it with the rest of the dataset."""
    return next((int(s.shape[1]) for s in _column(folder, ids) if s is not None), None)


def _by_split(
    whole: Split, records: Records, file: Path
) -> tuple[Mapping[str, Split], tuple[str, ...]]:
    if "split" not in records[0]:
        return {"train": whole}, (ALL_TRAIN,)
    rows: dict[str, list[int]] = {}
    for number, record in enumerate(records):
        name = SPLIT_NAMES.get(record["split"].strip().lower())
        if name is None:
            raise DataError(
                f"line {number + 2}: unknown split {record['split'][:40]!r}",
                file=file,
                fix="Expected train, valid or test.",
            )
        rows.setdefault(name, []).append(number)
    order = [name for name in ("train", "valid", "test") if name in rows]
    return {name: _picked(whole, rows[name]) for name in order}, ()


def _picked(whole: Split, rows: list[int]) -> Split:
    """Like `Split.select`, but arrays stay unopened."""
    columns = {name: _rows_of(column, rows) for name, column in whole.sequences.items()}
    labels = None if whole.labels is None else whole.labels[rows]
    return Split(ids=tuple(whole.ids[row] for row in rows), labels=labels, sequences=columns)


def _rows_of(column: Sequence[Steps | None], rows: list[int]) -> Column:
    return Column(len(rows), lambda index: column[rows[index]])
