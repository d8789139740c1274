"""Make clips from tables: long frames with one row per step, or rows with one clip each."""

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Shaped

from mmalign.data.clip import Clip, Steps
from mmalign.data.intake import gathered
from mmalign.data.tabular import Frame, numbers_of, require_column, to_table, values_of
from mmalign.errors import DataError, located

TIME = "time"


def clips_from_frames(
    frames: Frame,
    labels: Frame | None = None,
    *,
    modalities: Mapping[str, Sequence[str]] | None = None,
    clip: str = "clip",
    time: str = TIME,
    label: str = "label",
    group: str | None = None,
) -> list[Clip]:
    """Make clips from long tables, in which each row is one step of a clip.

    A frame is a pandas, Polars or Arrow table, a dict of columns, or the path of a CSV or Parquet
    file. A clip without rows lacks the modality. Empty cells are NaN.

    Args:
        frames: One frame per modality, `{modality: frame}`, whose columns are its features; or one
            frame for all modalities.
        labels: A frame with one row per clip. Default: label and group are columns of the frames.
        modalities: The columns of each modality. Default: all columns of its frame; in one frame
            for all, `wrist.x` is the feature x of the modality wrist. There, a row in which all
            columns of a modality are empty adds no step to it, so each may have its own rate.
        clip: Column with the id of the clip.
        time: Column to sort by. Without such a column, rows are in order.
        label: Column with the label; clips to predict need none.
        group: Column with the person or video.

    Raises:
        DataError: If a column is missing or not numeric, or a clip has two labels or none of the
            modalities.

    >>> wrist = {"clip": ["a", "a", "b"], "x": [1.0, 2.0, 3.0], "label": ["run", "run", "walk"]}
    >>> clips = clips_from_frames({"wrist": wrist, "pose": {"clip": ["b"], "angle": [0.5]}})
    >>> [(one.id, one.label, one.is_missing("pose")) for one in clips]
    [('a', 'run', True), ('b', 'walk', False)]
    """
    facts = {"label": label} if group is None else {"label": label, "group": group}
    others = {clip, time, *facts.values()}
    if isinstance(frames, Mapping) and not _is_columns(frames):
        tables = _own_tables(frames, modalities or {}, others)
        rows = tables
    else:
        tables = _parts_of(to_table(frames), modalities)
        rows = {name: (_rows_with(*part), part[1]) for name, part in tables.items()}
    columns = {
        name: _by_clip(name, table, features, clip, time)
        for name, (table, features) in rows.items()
    }
    different = {id(table): table for table, _ in tables.values()}
    known = _facts_in(list(different.values()), labels, clip, facts)
    ids = dict.fromkeys([*known, *(one for column in columns.values() for one in column)])
    return list(
        gathered(
            {"id": one, **known.get(one, {})}
            | {name: column.get(one) for name, column in columns.items()}
            for one in ids
        )
    )


def clips_from_rows(
    rows: Iterable[Any],
    modalities: Sequence[str],
    *,
    id: str = "id",  # noqa: A002
    label: str = "label",
    group: str | None = None,
) -> list[Clip]:
    """Make clips from rows, one per clip: a list of dicts, or a Hugging Face `Dataset`.

    Args:
        rows: Each with a nested list or an array `[time, dim]` for every modality it has.
        modalities: Columns that are modalities; other columns are ignored.
        id: Column with the id of the clip. Without such a column, clips are numbered.
        label: Column with the label. If a Hugging Face dataset names its classes, labels are
            these names.
        group: Column with the person or video.

    Raises:
        DataError: If a row is no dict or has none of the modalities, or a sequence is not a table
            of numbers.

    >>> clips_from_rows([{"file": "x.wav", "label": "run", "wrist": [[0.5], [1.0]]}], ["wrist"])
    [Clip('clip0', 'run', wrist [2, 1])]
    """
    if isinstance(rows, Mapping):
        raise DataError(
            f"expected rows, got a dict of {', '.join(map(repr, rows))}",
            fix="Give the rows of one split, e.g. data['train'].",
        )
    names = _class_names(rows, label)
    taken = {"label": label} if group is None else {"label": label, "group": group}
    given = []
    columns: set[str] = set()
    for row in rows:
        if not isinstance(row, Mapping):
            raise DataError(
                f"expected rows that are dicts, got one of {type(row).__name__}",
                fix="Give tables (pandas, Polars, Arrow) to clips_from_frames.",
            )
        columns |= row.keys()
        found = {name: row.get(name) for name in modalities}
        facts = {name: row[column] for name, column in taken.items() if row.get(column) is not None}
        place = _whole(facts.get("label"))
        if names is not None and place is not None:
            facts["label"] = _class_name(place, names)
        given.append(found | facts | ({"id": row[id]} if row.get(id) is not None else {}))
    if given and columns.isdisjoint(modalities):
        asked = ", ".join(map(repr, modalities))
        raise DataError(
            f"no row has a column {asked}; there are {', '.join(sorted(map(str, columns)))}",
            fix="Name the columns that are modalities.",
        )
    return list(gathered(given))


def _whole(label: Any) -> int | None:
    """The label as a whole number, False and True as 0 and 1; None if it is something else."""
    if isinstance(label, np.bool_):  # which, unlike bool, is no index
        return int(label)
    try:
        return index(label)
    except TypeError:  # arrays and tensors have an index only if they hold one whole number
        return None


def _class_name(label: int, names: Sequence[str]) -> str | None:
    """The name of a class by its index; -1 is how Hugging Face writes that there is no label.

    Raises:
        DataError: If there is no such class.
    """
    if label == -1:
        return None
    if not 0 <= label < len(names):
        raise DataError(
            f"label {label} is outside 0..{len(names) - 1}",
            fix=f"The rows know {len(names)} classes: {', '.join(names[:8])}.",
        )
    return names[label]


def _class_names(rows: object, label: str) -> Sequence[str] | None:
    """The names of classes that a Hugging Face dataset knows."""
    features = getattr(rows, "features", None)
    return getattr(features[label], "names", None) if features and label in features else None


Tables = dict[str, tuple[pa.Table, list[str]]]
"""By modality, the table that it is in and its columns there."""


def _own_tables(
    frames: Mapping[str, Frame], modalities: Mapping[str, Sequence[str]], others: set[str]
) -> Tables:
    """A table for each modality."""
    tables = {}
    for name, frame in frames.items():
        with located(modality=str(name)):
            table = to_table(frame)
        chosen = modalities.get(name)
        features = [one for one in table.column_names if one not in others]
        tables[str(name)] = table, features if chosen is None else list(chosen)
    return tables


def _parts_of(table: pa.Table, modalities: Mapping[str, Sequence[str]] | None) -> Tables:
    """One table for all modalities."""
    assigned = modalities or _dotted(table.column_names)
    return {name: (table, list(columns)) for name, columns in assigned.items()}


def _is_columns(frame: Mapping[str, Any]) -> bool:
    """Whether a dict holds the columns of one frame, and not a frame for each modality."""
    return all(isinstance(column, list | tuple | np.ndarray) for column in frame.values())


def _dotted(columns: Iterable[str]) -> dict[str, list[str]]:
    """Columns by what stands before their first dot."""
    found: dict[str, list[str]] = {}
    for column in columns:
        name, dot, _ = column.partition(".")
        if dot:
            found.setdefault(name, []).append(column)
    if not found:
        raise DataError(
            "no column is of the form modality.feature",
            fix='Name them so, or say which are features: modalities={"wrist": ["x", "y"]}.',
        )
    return found


def _rows_with(table: pa.Table, columns: list[str]) -> pa.Table:
    """The rows in which one of the columns, or more, is not empty."""
    return table.filter(pa.array(~np.isnan(numbers_of(table, columns)).all(axis=1)))


def _by_clip(
    modality: str, table: pa.Table, features: list[str], clip: str, time: str
) -> dict[str, Steps]:
    """The sequence of each clip."""
    with located(modality=modality):
        ids = [str(one) for one in _required(table, clip)]
        steps = numbers_of(table, features)
        first: dict[str, int] = {}
        codes = np.array([first.setdefault(one, len(first)) for one in ids], np.int64)
        is_ordered = time == TIME and TIME not in table.column_names
        times = np.zeros(len(ids)) if is_ordered else _times(table, time)
        order = np.lexsort((times, codes))
        ends = np.cumsum(np.bincount(codes, minlength=len(first)))[:-1]
        return dict(zip(first, np.split(steps[order], ends), strict=True)) if first else {}


def _times(table: pa.Table, name: str) -> Shaped[np.ndarray, " rows"]:
    """What rows are sorted by: numbers, dates, or texts that sort as they are.

    Raises:
        DataError: If it is something else, or texts of numbers, of which "10" comes before "9".
    """
    values = _required(table, name)
    kind = table.schema.field(name).type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not (is_text or is_number or pa.types.is_temporal(kind)) or (
        is_text and any(text.strip().lstrip("+-").replace(".", "", 1).isdigit() for text in values)
    ):
        raise DataError(
            f"column {name!r} holds {kind}, which cannot be sorted by",
            fix="Store times as numbers or dates.",
        )
    return np.array(values)


def _required(table: pa.Table, name: str) -> list[Any]:
    """The values of a column that may not be empty."""
    values = values_of(table, name)
    if None in values:
        row = values.index(None)
        raise DataError(f"row {row} has no {name!r}", fix="Fill it in, or leave the row out.")
    return values


def _facts_in(
    tables: Sequence[pa.Table], labels: Frame | None, clip: str, facts: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """Label and group of each clip, from a frame of their own or from wherever they stand."""
    if labels is not None:
        tables = [to_table(labels)]
        require_column(tables[0], facts["label"])
    known: dict[str, dict[str, Any]] = {}
    for table in tables:
        ids = [str(one) for one in _required(table, clip)]
        known |= {one: known.get(one, {}) for one in ids}
        for fact, column in facts.items():
            if column not in table.column_names:
                continue
            for one, value in zip(ids, values_of(table, column), strict=True):
                _learn(known[one], fact, value, one)
    if "group" in facts and not any("group" in found for found in known.values()):
        require_column(tables[0], facts["group"])
    return known


def _learn(known: dict[str, Any], fact: str, value: Any, clip: str) -> None:
    if value is None or value == "":
        return
    if known.setdefault(fact, value) != value:
        raise DataError(
            f"{fact} {known[fact]!r} in one row and {value!r} in another",
            clip=clip,
            fix=f"Give each clip one {fact}.",
        )
