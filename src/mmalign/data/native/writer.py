"""Write a dataset in the native format, all of it or nothing."""

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mmalign.data.clip import StepsColumn
from mmalign.data.dataset import Dataset
from mmalign.data.native.layout import (
    FORMAT_VERSION,
    GAPS_VERSION,
    METADATA_KEY,
    OBSERVED,
    RESERVED,
    fingerprint,
    pack_lengths,
    steps_type,
)
from mmalign.data.non_finite import apply_policy
from mmalign.data.split import Split
from mmalign.data.task import Classification, task_to_json
from mmalign.data.validation import validate
from mmalign.errors import DataError
from mmalign.files import naming, new_directory
from mmalign.progress import track

OBSERVED_TYPE = pa.list_(pa.field("element", pa.bool_(), nullable=False))
MAX_PAGE_BYTES = 1 << 30
ROW_GROUP_BYTES = 1 << 26  # writing takes about seven times this much memory


def write_native(dataset: Dataset, path: str | PathLike[str]) -> None:
    """Write a dataset to a new directory in the native format, atomically.

    Raises:
        DataError: If the dataset is not sound or not finite, or a modality has a reserved name.
        MMAlignError: If path exists already.
    """
    dataset = apply_policy(validate(dataset), "reject")
    gapped = {name for split in dataset.splits.values() for name in split.gapped}
    for name in dataset.dims:
        if name in RESERVED or name.removesuffix(OBSERVED) in gapped - {name}:
            raise DataError(f"a modality cannot be called {name!r}", fix="Rename it.")
    with new_directory(Path(path)) as draft:
        for name, split in dataset.splits.items():
            _write_split(dataset, split, draft / f"{name}-00000.parquet")


def _write_split(dataset: Dataset, split: Split, file: Path) -> None:
    schema = _schema(dataset, split)
    options = {
        "compression": "none",
        "use_dictionary": False,
        "data_page_size": MAX_PAGE_BYTES,
        "write_page_checksum": True,
        "write_statistics": False,
    }
    with naming(file), pq.ParquetWriter(file, schema, **options) as writer:
        groups = _row_groups(split)
        for rows in track(groups, f"writing {file.name}"):
            table = _to_table(split.select(rows), dataset, schema)
            writer.write_table(table, row_group_size=len(rows))


def _schema(dataset: Dataset, split: Split) -> pa.Schema:
    fields = [pa.field("id", pa.string(), nullable=False)]
    if split.labels is not None:
        is_class = isinstance(dataset.task, Classification)
        label_type = pa.int64() if is_class else pa.float32()
        fields.append(pa.field("label", label_type, nullable=False))
    fields += [pa.field(name, steps_type(dim)) for name, dim in dataset.dims.items()]
    if split.words is not None:
        fields.append(pa.field("words", pa.list_(pa.string())))
    if split.times is not None:
        fields.append(pa.field("times", pa.list_(pa.list_(pa.float64(), 2))))
    if split.groups is not None:
        fields.append(pa.field("group", pa.string()))
    fields += [pa.field(name + OBSERVED, OBSERVED_TYPE) for name in sorted(split.gapped)]
    description = {
        "version": GAPS_VERSION if split.gapped else FORMAT_VERSION,
        "task": task_to_json(dataset.task),
        "dims": dict(dataset.dims),
        "notes": list(dataset.notes),
        "ids": fingerprint(split.ids),
        "lengths": {name: pack_lengths(split.lengths(name)) for name in dataset.dims},
    }
    return pa.schema(fields, metadata={METADATA_KEY: json.dumps(description).encode()})


def _row_groups(split: Split) -> list[range]:
    """Consecutive clips, as many as keep a row group's features below ROW_GROUP_BYTES."""
    sizes = np.zeros(len(split), dtype=np.int64)
    for column in split.sequences.values():
        sizes += [0 if steps is None else steps.nbytes for steps in column]
    groups, start = [], 0
    total = np.cumsum(sizes)
    while start < len(split):
        used = total[start] - sizes[start]
        stop = int(np.searchsorted(total, used + ROW_GROUP_BYTES, side="right"))
        groups.append(range(start, max(stop, start + 1)))
        start = groups[-1].stop
    return groups


def _to_table(split: Split, dataset: Dataset, schema: pa.Schema) -> pa.Table:
    columns: dict[str, Any] = {"id": pa.array(split.ids, pa.string())}
    if split.labels is not None:
        columns["label"] = pa.array(split.labels)
    for name, dim in dataset.dims.items():
        columns[name] = _list_array(split.sequences[name], dim)
    if split.words is not None:
        columns["words"] = pa.array(split.words, schema.field("words").type)
    if split.times is not None:
        times = [None if value is None else value.tolist() for value in split.times]
        columns["times"] = pa.array(times, schema.field("times").type)
    if split.groups is not None:
        columns["group"] = pa.array(split.groups, pa.string())
    for name in split.gapped:
        columns[name + OBSERVED] = pa.array(split.observed(name), OBSERVED_TYPE)
    return pa.table(columns, schema=schema)


def _list_array(column: StepsColumn, dim: int) -> pa.ListArray:
    present = [steps for steps in column if steps is not None]
    flat = np.concatenate(present) if present else np.empty((0, dim), np.float32)
    lengths = [0 if steps is None else len(steps) for steps in column]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    kind = steps_type(dim)
    values = pa.FixedSizeListArray.from_arrays(pa.array(flat.reshape(-1)), type=kind.value_type)
    is_missing = pa.array([steps is None for steps in column])
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=kind, mask=is_missing)
