"""A folder of `.npy` files, one per clip and modality, with a CSV of labels.

`labels.csv` has a line for each clip: `id`, `label` and, optionally, `split`. The sequence of clip
`ID` in modality `M` is an array `[time, dim]` in `M/ID.npy`, `ID/M.npy`, `ID_M.npy` or `ID.M.npy`,
or, where there is one modality only, `ID.npy`. A modality without a file is missing.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from mmalign.data.arrays import read_npy
from mmalign.data.clip import Steps
from mmalign.data.columns import MadeColumn, to_float32
from mmalign.data.dataset import Dataset
from mmalign.data.labels import LabelColumn, pick, task_of_column
from mmalign.data.readers.drafts import Draft, assemble
from mmalign.data.readers.groups import group_column
from mmalign.data.readers.labels import choose_candidate, choose_name
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.tables import read_header, read_records
from mmalign.data.readers.values import to_array
from mmalign.data.split_names import ALL_TRAIN, rows_by_split
from mmalign.data.task import Regression
from mmalign.errors import DataError, located
from mmalign.progress import track

IDS = ("id", "ids", "clip", "clip_id", "name", "file", "filename")
ONLY_MODALITY = "features"

Records = list[dict[str, str]]


def recognises(path: Path) -> bool:
    """Whether there is a CSV with a column of ids, and arrays beside or below it."""
    return _labels_file(path) is not None and next(_array_files(path), None) is not None


def read_folder(path: Path, options: ReadOptions) -> Dataset:
    """Read the folder; arrays are opened when they are asked for.

    Raises:
        DataError: If the CSV or an array is not readable, or a clip has no array at all.
    """
    options.require_no_vectors()
    file = _labels_file(path)
    if file is None:
        raise DataError("no CSV with a column `id`", file=path, fix="Put a labels.csv in.")
    records = _records(file)
    key = _label_key([name for name in records[0] if name not in ("id", "split")], options.label)
    values = None if key is None else _values([record[key] for record in records])
    group = group_column(name for name in records[0] if name != key)
    ids = [record["id"] for record in records]
    arrays = _find_arrays(path, frozenset(ids))
    dims = {modality: _common_dim(modality, files, ids) for modality, files in arrays.items()}
    drafts = {}
    with located(file=file):
        by_split = rows_by_split([record.get("split", "train") for record in records], ids)
    for name, rows in by_split.items():
        members = [ids[row] for row in rows]
        columns = {modality: _column(modality, arrays[modality], members) for modality in dims}
        labels = None if values is None else pick(values, rows)
        groups = None if group is None else [records[row][group] for row in rows]
        drafts[name] = Draft(members, labels, columns, groups=groups)
    task = Regression() if values is None else task_of_column(values)
    return assemble(drafts, dims, task, () if "split" in records[0] else (ALL_TRAIN,))


def _labels_file(path: Path) -> Path | None:
    """`labels.csv`, or any other CSV whose header has a column of ids."""
    for file in sorted(path.glob("*.csv"), key=lambda f: (f.name != "labels.csv", f.name)):
        if any(name.lower() in IDS for name in read_header(file)):
            return file
    return None


def _array_files(path: Path) -> Iterator[Path]:
    yield from path.glob("*.npy")
    yield from path.glob("*/*.npy")


def _find_arrays(path: Path, ids: frozenset[str]) -> dict[str, dict[str, Path]]:
    """Modality → clip id → file."""
    found: dict[str, dict[str, Path]] = {}
    for file in sorted(_array_files(path)):
        place = _place(file.stem, None if file.parent == path else file.parent.name, ids)
        if place is not None:
            modality, clip_id = place
            found.setdefault(modality, {})[clip_id] = file
    if not found:
        raise DataError(
            "no .npy file is named for an id of the CSV",
            file=path,
            fix="Expected MODALITY/ID.npy for every clip and modality.",
        )
    return found


def _place(stem: str, folder: str | None, ids: frozenset[str]) -> tuple[str, str] | None:
    """Which modality of which clip a file holds."""
    if folder is not None:
        return (folder, stem) if stem in ids else (stem, folder) if folder in ids else None
    if stem in ids:
        return ONLY_MODALITY, stem
    for separator in "._-":
        clip_id, _, modality = stem.rpartition(separator)
        if clip_id in ids and modality:
            return modality, clip_id
    return None


def _records(file: Path) -> Records:
    records = read_records(file)
    for number, record in enumerate(records):
        key = next((name for name in record if name.lower() in IDS), None)
        if key is None:  # a quote that does not end makes one name of several
            raise DataError("the header names no ids", file=file, fix="Name a column `id`.")
        record["id"] = record.pop(key).removesuffix(".npy")
        if "/" in record["id"] or record["id"] in ("", ".", ".."):
            raise DataError(
                f"line {number + 2}: {record['id']!r} is not an id",
                file=file,
                fix="An id is the name of the clip's files, without folder and ending.",
            )
    if not records:
        raise DataError("a CSV without clips", file=file, fix="Give each clip a line.")
    return records


def _label_key(names: list[str], wanted: str | None) -> str | None:
    if wanted is not None:
        return choose_name(names, wanted)
    return "label" if "label" in names else choose_candidate(names)


def _values(texts: list[str]) -> LabelColumn:
    """Integers, numbers, or names, whichever all labels are."""
    for kind in (np.int64, np.float64):
        try:
            return np.array(texts, dtype=kind)
        except (ValueError, OverflowError):
            continue
    return texts


def _column(modality: str, files: Mapping[str, Path], ids: list[str]) -> MadeColumn:
    def make(index: int) -> Steps | None:
        file = files.get(ids[index])
        if file is None:
            return None
        with located(file=file, clip=ids[index], modality=modality):
            array = read_npy(file)
            # One vector stands for a sequence of one step.
            return to_float32(to_array(array[None] if array.ndim == 1 else array, dims=2))

    return MadeColumn(len(ids), make)


def _common_dim(modality: str, files: Mapping[str, Path], ids: list[str]) -> int:
    """The dim that all arrays of a modality share; opens each of them once."""
    members = [clip_id for clip_id in ids if clip_id in files]
    column = track(_column(modality, files, members), f"opening {modality}", total=len(members))
    dims = [steps.shape[1] for steps in column if steps is not None]
    for clip_id, dim in zip(members, dims, strict=True):
        if dim != dims[0]:
            raise DataError(
                f"dim is {dim}, in {files[members[0]].name} {dims[0]}",
                file=files[clip_id],
                clip=clip_id,
                modality=modality,
                fix="All clips share one feature dimension per modality.",
            )
    return int(dims[0])
