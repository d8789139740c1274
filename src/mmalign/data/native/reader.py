"""Open a native directory; features stay in the memory-mapped files until they are used."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mmalign.data.arrow import numbers_in
from mmalign.data.clip import StepsColumn, Times
from mmalign.data.dataset import Dataset
from mmalign.data.labels import encode_labels, suggested_task
from mmalign.data.native.decoded import decoded_columns
from mmalign.data.native.layout import (
    FORMAT_VERSION,
    GAPS_VERSION,
    METADATA_KEY,
    RESERVED,
    observed_columns,
    shards,
)
from mmalign.data.native.mapped import mapped_columns
from mmalign.data.native.opening import open_parquet
from mmalign.data.pickles import map_file
from mmalign.data.split import Split, whole_groups
from mmalign.data.split_names import SPLITS
from mmalign.data.task import Classification, Labels, Task, task_from_json
from mmalign.data.validation import validate
from mmalign.documents import parse_json
from mmalign.errors import DataError, damaged, located

UNREADABLE = (
    *(pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError),
    *(MemoryError, RecursionError),
)


@dataclass(frozen=True)
class Shard:
    """One file: its columns as read, before splits and labels are put together."""

    file: Path
    description: dict[str, Any]
    ids: tuple[str, ...]
    labels: Any
    columns: Mapping[str, StepsColumn]
    words: list[list[str] | None] | None
    times: list[Times | None] | None
    groups: tuple[str, ...] | None
    gapped: frozenset[str]
    is_mapped: bool

    @property
    def dims(self) -> dict[str, int]:
        """Feature dimension of each modality, as declared or as seen in the first clip."""
        declared: dict[str, int] = self.description.get("dims", {})
        if set(declared) == set(self.columns):
            return {name: declared[name] for name in self.columns}
        seen = {
            name: next((s for s in c if s is not None), None) for name, c in self.columns.items()
        }
        return {name: steps.shape[1] for name, steps in seen.items() if steps is not None}


def read_native(path: Path) -> Dataset:
    """Open a native directory.

    Raises:
        DataError: If a file is truncated, lacks a column, or its contents are not sound.
    """
    parts = {split: [_read_shard(file) for file in shards(path, split)] for split in SPLITS}
    parts = {split: files for split, files in parts.items() if files}
    everything = [shard for files in parts.values() for shard in files]
    if not everything:
        raise DataError(
            "a directory without splits", file=path, fix="Expected files like train-00000.parquet."
        )
    dims = _common_dims(everything)
    task = _common_task(everything)
    notes = [note for shard in everything for note in shard.description.get("notes", ())]
    with located(file=path):
        splits = {name: _to_split(files, task, dims) for name, files in parts.items()}
        return validate(Dataset(task, dims, splits, tuple(dict.fromkeys(notes))))


def _read_shard(file: Path) -> Shard:
    try:
        data = map_file(file)
        handle = open_parquet(data)
        description = _description(handle.schema_arrow)
        small = [name for name in handle.schema_arrow.names if name in RESERVED]
        if "id" not in small:
            raise DataError(
                "there is no column 'id'", fix=f"Columns are {handle.schema_arrow.names[:20]}."
            )
        table = handle.read(columns=small)
        ids = tuple(map(str, table.column("id").to_pylist()))
        columns = mapped_columns(data, handle.schema_arrow.names, description, ids)
        return Shard(
            file=file,
            description=description,
            ids=ids,
            labels=table.column("label").combine_chunks() if "label" in small else None,
            columns=columns if columns is not None else decoded_columns(handle),
            words=_words(table) if "words" in small else None,
            times=_times(table) if "times" in small else None,
            groups=_groups(table, ids) if "group" in small else None,
            gapped=frozenset(observed_columns(handle.schema_arrow)),
            is_mapped=columns is not None,
        )
    except DataError as error:
        raise error.located(file=file) from None
    except UNREADABLE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"not a readable Parquet file ({reason})",
            file=file,
            fix="It may be truncated; copy or convert it again.",
        ) from error


def _description(schema: pa.Schema) -> dict[str, Any]:
    text = (schema.metadata or {}).get(METADATA_KEY)
    description = parse_json(text) if text else {}
    if not isinstance(description, dict):
        raise damaged("the metadata key 'mmalign' does not hold an object")
    if description.get("version", FORMAT_VERSION) > GAPS_VERSION:
        raise DataError(
            f"written by a newer mmalign (format {description['version']})", fix="Upgrade mmalign."
        )
    dims = description.get("dims", {})
    if not isinstance(dims, dict) or any(type(dim) is not int or dim < 1 for dim in dims.values()):
        raise DataError("the metadata key 'mmalign' does not hold sound dims", fix="Convert again.")
    return description


def _words(table: pa.Table) -> list[list[str] | None]:
    rows: list[list[str] | None] = table.column("words").to_pylist()
    if any(row is not None and None in row for row in rows):
        raise DataError("a word is null", fix="Give each step a word, or leave the clip's out.")
    return rows


def _times(table: pa.Table) -> list[Times | None]:
    rows = table.column("times").to_pylist()
    return [None if row is None else np.array(row, np.float64).reshape(-1, 2) for row in rows]


def _groups(table: pa.Table, ids: Sequence[str]) -> tuple[str, ...] | None:
    groups = table.column("group").to_pylist()
    return whole_groups(ids, [None if group is None else str(group) for group in groups])


def _common_dims(parts: Sequence[Shard]) -> dict[str, int]:
    """Dims of the dataset; a shard in which a modality is missing everywhere cannot tell."""
    dims: dict[str, int] = dict.fromkeys(parts[0].columns, 0)
    for shard in parts:
        if set(shard.columns) != set(dims):
            raise DataError(
                f"modalities are {sorted(shard.columns)}, in {parts[0].file.name} {sorted(dims)}",
                file=shard.file,
                fix="All files of a dataset share their modalities.",
            )
        for name, dim in shard.dims.items():
            if dims[name] not in (0, dim):
                raise DataError(
                    f"dim is {dim}, in another file {dims[name]}",
                    file=shard.file,
                    modality=name,
                    fix="All files of a dataset share one feature dimension per modality.",
                )
            dims[name] = dim
    return {name: dim for name, dim in dims.items() if dim}


def _common_task(parts: Sequence[Shard]) -> Task:
    """The task as the metadata tells it, or as the label columns suggest."""
    declared = {json.dumps(s.description["task"]): s for s in parts if "task" in s.description}
    if len(declared) > 1:
        raise DataError(
            f"files disagree on the task: {', '.join(declared)}",
            file=parts[0].file,
            fix="Convert all splits at once, so that they share a task.",
        )
    if declared:
        return task_from_json(json.loads(next(iter(declared))))
    columns = [shard.labels for shard in parts if shard.labels is not None]
    values = [value for column in columns for value in column.to_pylist() if value is not None]
    return suggested_task([int(v) if isinstance(v, bool) else v for v in values])


def _to_split(parts: Sequence[Shard], task: Task, dims: dict[str, int]) -> Split:
    has_labels = any(shard.labels is not None for shard in parts)
    for shard in parts:
        if has_labels and (shard.labels is None or shard.labels.null_count):
            raise DataError("some clips have no label", file=shard.file, fix="Drop those clips.")
    return Split.joined([_part(shard, task, dims) for shard in parts])


def _part(shard: Shard, task: Task, dims: dict[str, int]) -> Split:
    split = Split(
        ids=shard.ids,
        labels=_to_labels(shard, task),
        sequences={name: shard.columns[name] for name in dims},
        words=shard.words,
        times=shard.times,
        groups=shard.groups,
        gapped=shard.gapped.intersection(dims),
    )
    # What our writer wrote was checked before it was written.
    return split.checked_finite() if shard.is_mapped else split


def _to_labels(shard: Shard, task: Task) -> Labels | None:
    if shard.labels is None:
        return None
    kind = shard.labels.type
    is_cut = isinstance(task, Classification) and pa.types.is_floating(kind)
    if pa.types.is_string(kind) or is_cut:
        return encode_labels(shard.ids, shard.labels.to_pylist(), task)
    with np.errstate(over="ignore"):
        numbers: Labels = numbers_in(shard.labels).astype(task.dtype)
    return numbers
