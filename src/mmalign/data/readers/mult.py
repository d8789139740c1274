"""MulT: `mosi_data.pkl`, `mosei_senti_data.pkl`, `iemocap_data.pkl`, `*_data_noalign.pkl`.

A dict of splits, each with arrays `text`, `vision`, `audio` `[clips, time, dim]` and `labels`. No
lengths are stored: the arrays are padded with zeros, in front or at the end.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.dataset import Dataset
from mmalign.data.labels import encode_labels, task_of_column
from mmalign.data.readers.labels import ChosenColumn, choose_column
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.padded import (
    MODALITIES,
    Padded,
    clip_ids,
    common_dims,
    feature_arrays,
)
from mmalign.data.readers.padding import (
    Bounds,
    Used,
    bounds_of,
    padding_side,
    used_steps,
)
from mmalign.data.readers.values import describe, to_numbers
from mmalign.data.task import Classification, Task
from mmalign.errors import DataError

IEMOCAP_EMOTIONS = ("neutral", "happy", "sad", "angry")


def recognises(content: Any) -> bool:
    """Whether the value is one split of this layout."""
    if not isinstance(content, dict) or "labels" not in content:
        return False
    arrays = [content[name] for name in MODALITIES if name in content]
    return any(isinstance(array, np.ndarray) and array.ndim == 3 for array in arrays)


def to_dataset(splits: Mapping[str, Mapping[Any, Any]], options: ReadOptions) -> Dataset:
    """The dataset of these splits.

    Raises:
        DataError: If a split is not laid out as this format lays out splits.
    """
    arrays, labels = {}, {}
    for name, content in splits.items():
        try:
            arrays[name] = feature_arrays(content)
            count = len(next(iter(arrays[name].values())))
            labels[name] = _label_table(content["labels"], count)
        except DataError as error:
            raise error.located(split=name) from None
    dims = common_dims(arrays)
    values, task, notes = _choose(labels, options.label)
    bounds, padding_note = strip_padding(arrays)
    parts, collected = {}, [*notes, padding_note]
    for name, content in splits.items():
        ids = clip_ids(content.get("id"), len(values[name]), name)
        padded = Padded(ids, arrays[name], bounds[name])
        try:
            parts[name] = padded.split(encode_labels(ids, values[name], task))
        except DataError as error:
            raise error.located(split=name) from None
        collected += padded.notes(name)
    return Dataset(task, dims, parts, tuple(note for note in collected if note))


def strip_padding(
    arrays: Mapping[str, Mapping[str, Array]],
) -> tuple[dict[str, dict[str, Bounds]], str]:
    """Bounds of every clip in every split and modality, and a note on what was found.

    Where all modalities have as many steps they are aligned: they share bounds, and a step counts
    as used where any modality has a value.
    """
    used = {s: {m: used_steps(a) for m, a in content.items()} for s, content in arrays.items()}
    is_aligned = len({a.shape[1] for content in arrays.values() for a in content.values()}) == 1
    names = list(next(iter(arrays.values())))
    if is_aligned:
        for content in used.values():
            union: Used = np.logical_or.reduce(list(content.values()))
            content.update(dict.fromkeys(list(content), union))
    sides = {m: padding_side([content[m] for content in used.values()]) for m in names}
    bounds = {s: {m: bounds_of(content[m], sides[m]) for m in names} for s, content in used.items()}
    found = ", ".join(f"{m} {side}" for m, side in sides.items() if side != "none")
    note = f"no lengths are stored: stripped the zeros that pad the clips ({found})"
    return bounds, note if found else ""


def _label_table(value: Any, count: int) -> Array:
    """Labels `[clips, columns]`, or `[clips, emotions, 2]` as in IEMOCAP."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and len(value) == count:
        return value if value.ndim == 3 and value.shape[2] == 2 else value.reshape(count, -1)
    numbers = to_numbers(value)
    if len(numbers) != count:
        raise DataError(f"expected labels of {count} clips, got {describe(value)}")
    return numbers.reshape(count, 1)


def _choose(
    tables: Mapping[str, Array], wanted: str | None
) -> tuple[dict[str, Array], Task, Sequence[str]]:
    shapes = {table.shape[1:] for table in tables.values()}
    if len(shapes) != 1:
        raise DataError(f"splits have labels of different shapes: {sorted(map(str, shapes))}")
    shape = shapes.pop()
    if len(shape) == 2:
        return _choose_emotion(tables, wanted)
    chosen: ChosenColumn = choose_column(shape[0], wanted)
    values = {name: table[:, chosen.index] for name, table in tables.items()}
    every = np.concatenate(list(values.values()))
    task = task_of_column(every) if every.dtype.kind in "iub" else chosen.task
    return values, task, chosen.notes


def _choose_emotion(
    tables: Mapping[str, Array], wanted: str | None
) -> tuple[dict[str, Array], Task, Sequence[str]]:
    """IEMOCAP: yes or no for each emotion; all of them as classes where every clip has one."""
    votes = {name: table.argmax(axis=2) for name, table in tables.items()}
    count = next(iter(votes.values())).shape[1]
    names = IEMOCAP_EMOTIONS if count == 4 else tuple(map(str, range(count)))
    if wanted is None:
        if all((vote.sum(axis=1) == 1).all() for vote in votes.values()):
            classes = {name: vote.argmax(axis=1) for name, vote in votes.items()}
            return classes, Classification(names), ()
        raise DataError(
            "the labels are yes or no for each emotion, and some clips have none or several",
            fix=f"Choose one with --label: {', '.join(names)}.",
        )
    if wanted not in names:
        raise DataError(f"there is no label {wanted!r}", fix=f"This file has {', '.join(names)}.")
    column = names.index(wanted)
    task = Classification(("no", "yes"))
    return {name: vote[:, column] for name, vote in votes.items()}, task, ()
