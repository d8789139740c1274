"""MM-Align's `resplit/group_g/{train,dev,test}_{complete,missing}_{10,50}.pkl`.

The files partition each split by which clips keep their victim. They still hold every array, and do
not say which modality is the victim: so a group is a dataset like any other, plus masks for
whatever pair of modalities the user chooses.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mmalign.data.dataset import Dataset
from mmalign.data.missingness import Masks, Protocol
from mmalign.data.pickles import read_pickle
from mmalign.data.readers import misa
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.values import unexpected
from mmalign.data.readers.vectors import find_vectors
from mmalign.data.split_names import SPLIT_NAMES, in_order
from mmalign.errors import DataError

FILE = re.compile(r"([a-z]+)_(complete|missing)_(\d+)\.pkl")

Files = Mapping[str, Mapping[str, Path]]
"""Split → `complete` or `missing` → file."""


def find_group(path: Path) -> Path | None:
    """The folder of one group: this one, or the only group inside it.

    Raises:
        DataError: If there are several groups to choose from.
    """
    if any(FILE.fullmatch(file.name) for file in path.iterdir()):
        return path
    inside = sorted(f for f in [*path.glob("group_*"), *path.glob("resplit/group_*")] if f.is_dir())
    if len(inside) > 1 and not any(path.glob("*.pkl")):
        names = ", ".join(folder.name for folder in inside)
        raise DataError(f"several groups: {names}", file=path, fix="Give the folder of one.")
    return inside[0] if len(inside) == 1 and not any(path.glob("*.pkl")) else None


def read_group(path: Path, options: ReadOptions) -> Dataset:
    """The dataset of a group: every clip, whether the files call it complete or missing.

    Raises:
        DataError: If a file is damaged or missing.
    """
    rates = _rates(path)
    rate = min(rates)
    values = {}
    for split, files in rates[rate].items():
        rows = [row for file in files.values() for row in _rows(file)]
        values[split] = (max(files.values(), key=lambda file: file.stat().st_size), rows)
    dataset = misa.to_dataset(values, options, _folder_of_vectors(path))
    offered = ", ".join(f"{rate / 100:g}" for rate in sorted(rates))
    note = (
        f"{path.name} also stores masks for survival {offered}: "
        "mmalign.data.readers.resplit.read_masks loads them"
    )
    return replace(dataset, notes=(*dataset.notes, note))


def read_masks(
    path: Path, *, visible: str, victim: str, survival: float, setting: str = "A"
) -> Masks[Protocol]:
    """The masks of a group, for the pair of modalities that the user chooses.

    Args:
        path: Folder of the group.
        visible: The modality that is always there.
        victim: The modality that the clips of the `missing` files lose.
        survival: Which of the stored rates, e.g. 0.1 for the files `*_10.pkl`.
        setting: "A": all clips of valid and test lose the victim; "B": those of their files.

    Raises:
        DataError: If there are no such files, or one is damaged.
    """
    rates = _rates(path)
    files = rates.get(round(100 * survival))
    if files is None:
        offered = ", ".join(f"{rate / 100:g}" for rate in sorted(rates))
        raise DataError(f"no masks for survival {survival}", file=path, fix=f"There are {offered}.")
    missing = {}
    for split, parts in files.items():
        gone = _ids(parts["missing"]) if "missing" in parts else []
        if setting == "A" and split != "train":
            gone = [clip_id for file in parts.values() for clip_id in _ids(file)]
        missing[split] = tuple(gone)
    found = re.search(r"\d+", path.name)
    seed = int(found[0]) if found else 0
    protocol = Protocol(
        visible=visible, victim=victim, survival=survival, setting=setting, seed=seed
    )
    return Masks(protocol, missing)


def _rates(path: Path) -> dict[int, Files]:
    """For each stored rate (in percent), the files of every split."""
    rates: dict[int, dict[str, dict[str, Path]]] = {}
    for file in sorted(path.iterdir()):
        parts = FILE.fullmatch(file.name)
        split = SPLIT_NAMES.get(parts[1]) if parts else None
        if parts and split:
            rates.setdefault(int(parts[3]), {}).setdefault(split, {})[parts[2]] = file
    if not rates:
        raise DataError(
            "no files like train_complete_10.pkl", file=path, fix="Give the folder of one group."
        )
    return {rate: in_order(files) for rate, files in rates.items()}


def _rows(file: Path) -> list[object]:
    value = read_pickle(file)
    if not isinstance(value, list) or (value and not misa.recognises(value)):
        raise unexpected("a list of clips", value, file=file)
    return value


def _ids(file: Path) -> list[str]:
    return [row.id for row in misa.to_rows(_rows(file), file)]


def _folder_of_vectors(path: Path) -> Path:
    """The group's folder, or one above it: `<data>/resplit/group_1` shares `<data>`'s vectors."""
    folders = (path, path.parent, path.parent.parent)
    return next((folder for folder in folders if find_vectors(folder, None)), path)
