"""Features of any Parquet file with the right columns, decoded by pyarrow."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mmalign.data.arrow import numbers_in
from mmalign.data.clip import Steps
from mmalign.data.gaps import with_gaps
from mmalign.data.native.layout import OBSERVED, RESERVED, observed_columns
from mmalign.errors import DataError
from mmalign.progress import track

MAX_DIM = 1 << 24
"""A step that is null takes as much memory as one that is not."""

Columns = dict[str, list[Steps | None]]


def decoded_columns(handle: pq.ParquetFile) -> Columns:
    """Every column of features, as one array `[time, dim]` or None a clip; NaN in its gaps.

    Raises:
        DataError: If a column is no list of lists of numbers, or has nulls inside a sequence, or
            the steps that were observed are not those of the sequence.
    """
    observed = observed_columns(handle.schema_arrow)
    others = {*RESERVED, *observed.values()}
    names = [field.name for field in handle.schema_arrow if field.name not in others]
    for name in names:
        _require_steps(handle.schema_arrow.field(name))
    columns: Columns = {name: [] for name in names}
    for index in track(range(handle.metadata.num_row_groups), "decoding Parquet"):
        table = handle.read_row_group(index, columns=names)
        for name in names:
            for chunk in table.column(name).chunks:
                columns[name] += _to_arrays(chunk, name)
    for name, told in observed.items():
        told_steps = handle.read(columns=[told]).column(told).to_pylist()
        columns[name] = [_torn(*pair, name) for pair in zip(columns[name], told_steps, strict=True)]
    return columns


def _torn(steps: Steps | None, observed: list[bool | None] | None, name: str) -> Steps | None:
    """The sequence with NaN where nothing was observed."""
    if steps is None or observed is None:
        return steps
    if len(observed) != len(steps) or None in observed:
        raise DataError(
            f"a sequence has {len(steps)} steps, {len(observed)} are said to be observed or not",
            modality=name,
            fix=f"Give one true or false per step in {name}{OBSERVED}.",
        )
    return with_gaps(steps, np.array(observed, dtype=bool))


def _require_steps(field: pa.Field) -> None:
    inner = getattr(field.type, "value_type", None)
    number = getattr(inner, "value_type", None)
    dim = getattr(inner, "list_size", 0)
    if dim > MAX_DIM:
        raise DataError(
            f"column {field.name!r} has steps of {dim:,} features",
            fix=f"Features are at most {MAX_DIM:,} a step; turn them into more steps.",
        )
    if number is None or not (pa.types.is_floating(number) or pa.types.is_integer(number)):
        raise DataError(
            f"column {field.name!r} has type {field.type}, which is not a modality",
            fix="A modality is a list of steps, each a list of float32; drop other columns.",
        )


def _to_arrays(chunk: Any, name: str) -> list[Steps | None]:
    """Split one chunk into clips; pyarrow's `flatten` minds offsets, nulls and list kinds."""
    steps = chunk.flatten()
    values = steps.flatten()
    dim, is_uniform = _step_size(steps, len(values))
    if steps.null_count or values.null_count or not is_uniform:
        problem = "null inside a sequence" if is_uniform else "steps of different dims"
        raise DataError(problem, modality=name, fix="Only a whole modality can be null.")
    flat = numbers_in(values).astype(np.float32, copy=False).reshape(-1, dim)
    lengths = chunk.value_lengths().to_pylist()
    stops = np.cumsum([n or 0 for n in lengths]).tolist()
    return [
        None if n is None else flat[stop - n : stop] for n, stop in zip(lengths, stops, strict=True)
    ]


def _step_size(steps: Any, values: int) -> tuple[int, bool]:
    """Features per step, and whether all steps have as many."""
    if pa.types.is_fixed_size_list(steps.type):
        return int(steps.type.list_size), True
    if len(steps) == 0:
        return 1, True
    dim = values // len(steps)
    sizes = numbers_in(steps.value_lengths())
    return max(dim, 1), bool((sizes == dim).all())
