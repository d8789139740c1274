"""Layouts inside pickles, told apart by content; each file is parsed once."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmalign.data.dataset import Dataset
from mmalign.data.pickles import map_file, read_pickle
from mmalign.data.readers import meld, misa, mmsa, mult
from mmalign.data.readers.kinds import Kind, kind_of
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.values import describe
from mmalign.data.split_names import ALL_TRAIN, keyed_by_split, split_of
from mmalign.errors import DataError, damaged

PICKLE_STARTS = (b"\x80", b"(", b"]", b"}", b")", b"c")
SUPPORTED = (
    "Expected a list of clips (MISA, BBFN, MM-Align, MELD), or a dict of splits (MulT, MMSA); "
    "docs/formats.md shows each."
)


def read_pickled(file: Path, options: ReadOptions) -> Dataset:
    """Read a pickle of any supported layout.

    Raises:
        DataError: If it is damaged or of no supported layout.
    """
    value = _open_pickle(file)
    split = split_of(file.stem)
    if isinstance(value, dict):
        return _read_dict(file, value, options)
    dataset = _read_lists({split or "train": (file, value)}, options)
    return dataset if split else replace(dataset, notes=(*dataset.notes, ALL_TRAIN))


def read_split_files(files: Mapping[str, Path], options: ReadOptions) -> Dataset:
    """Read one pickled list of clips per split.

    Raises:
        DataError: If a file is damaged, of no supported layout, or of another than the first.
    """
    return _read_lists({name: (file, _open_pickle(file)) for name, file in files.items()}, options)


def _open_pickle(file: Path) -> Any:
    if kind_of(file) is not Kind.PICKLE:
        raise damaged("not a pickle, though others beside it are", file=file)
    try:
        return read_pickle(file)
    except DataError as error:
        if bytes(map_file(file)[:1]) not in PICKLE_STARTS:
            raise DataError(
                "not a supported format: no pickle, npz, HDF5, CSV or Parquet",
                file=file,
                fix="docs/formats.md lists every format, docs/own-data.md shows how to write one.",
            ) from error
        raise


def _read_lists(values: Mapping[str, tuple[Path, Any]], options: ReadOptions) -> Dataset:
    if all(misa.recognises(value) for _, value in values.values()):
        return misa.to_dataset(values, options)
    if all(meld.recognises(value) for _, value in values.values()):
        return meld.to_dataset(values, options)
    for file, value in values.values():
        if not (misa.recognises(value) or meld.recognises(value)):
            raise DataError(f"not a supported layout: {describe(value)}", file=file, fix=SUPPORTED)
    raise DataError("the splits are of different layouts", fix=SUPPORTED)


def _read_dict(file: Path, value: dict[Any, Any], options: ReadOptions) -> Dataset:
    splits = keyed_by_split(value)
    if splits and all(isinstance(content, list | tuple) for content in splits.values()):
        return _read_lists({name: (file, rows) for name, rows in splits.items()}, options)
    if not splits:
        splits = {split_of(file.stem) or "train": value}
    if all(mmsa.recognises(content) for content in splits.values()):
        return mmsa.to_dataset(splits, options)
    if all(mult.recognises(content) for content in splits.values()):
        return mult.to_dataset(splits, options)
    if mmsa.recognises_clip(value):
        return mmsa.clip_to_dataset(value, file.stem, options)
    raise DataError(f"not a supported layout: {describe(value)}", file=file, fix=SUPPORTED)
