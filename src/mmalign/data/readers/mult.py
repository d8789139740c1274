"""MulT: `mosi_data.pkl`, `mosei_senti_data.pkl`, `iemocap_data.pkl`, `*_data_noalign.pkl`.

A dict of splits, each with arrays `text`, `vision`, `audio` `[clips, time, dim]` and `labels`. No
lengths are stored: the arrays are padded with zeros, in front or at the end.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.dataset import Dataset
from mmalign.data.readers.labels import Chosen, choose_labels, choose_name
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.padded import (
    Padded,
    assemble_padded,
    axes_of,
    clip_ids,
    clips_in,
    feature_arrays,
)
from mmalign.data.readers.padding import (
    Bounds,
    Used,
    bounds_of,
    padding_side,
    used_steps,
)
from mmalign.data.readers.values import to_numbers
from mmalign.data.task import Classification
from mmalign.errors import DataError, located

IEMOCAP_EMOTIONS = ("neutral", "happy", "sad", "angry")


def recognises(content: Any) -> bool:
    """Whether the value is one split of this layout."""
    return isinstance(content, dict) and "labels" in content and 3 in axes_of(content)


def to_dataset(splits: Mapping[str, Mapping[Any, Any]], options: ReadOptions) -> Dataset:
    """The dataset of these splits.

    Raises:
        DataError: If a split is not laid out as this format lays out splits.
    """
    options.require_no_vectors()
    arrays, tables = {}, {}
    for name, content in splits.items():
        with located(split=name):
            arrays[name] = feature_arrays(content)
            tables[name] = _label_table(content["labels"], clips_in(arrays[name]))
    labels, task, notes = _choose(tables, options.label)
    bounds, padding_note = strip_padding(arrays)
    padded = {}
    for name, content in splits.items():
        with located(split=name):
            ids = clip_ids(content.get("id"), len(labels[name]), name)
            padded[name] = Padded(ids, arrays[name], bounds[name], labels[name])
    return assemble_padded(padded, task, (*notes, padding_note))


def strip_padding(
    arrays: Mapping[str, Mapping[str, Array]],
) -> tuple[dict[str, dict[str, Bounds]], str]:
    """Bounds of every clip in every split and modality, and a note on what was found.

    Where all modalities have as many steps they are aligned: they share bounds, and a step counts
    as used where any modality has a value.

    Raises:
        DataError: If a split has other modalities than the first.
    """
    first, names = next((split, list(content)) for split, content in arrays.items())
    for split, content in arrays.items():
        if set(content) != set(names):
            raise DataError(
                f"has {', '.join(content)}, where {first} has {', '.join(names)}",
                split=split,
                fix="Store the same modalities in every split.",
            )
    used = {s: {m: used_steps(a) for m, a in content.items()} for s, content in arrays.items()}
    is_aligned = len({a.shape[1] for content in arrays.values() for a in content.values()}) == 1
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
    return to_numbers(value, count, what="labels").reshape(count, 1)


def _choose(tables: Mapping[str, Array], wanted: str | None) -> Chosen:
    axes = {table.ndim for table in tables.values()}
    if len(axes) != 1:
        raise DataError(
            "some splits have labels for each emotion, and some have not",
            fix="Store the labels of all splits alike.",
        )
    return choose_labels(tables, wanted) if axes == {2} else _choose_emotion(tables, wanted)


def _choose_emotion(tables: Mapping[str, Array], wanted: str | None) -> Chosen:
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
    column = names.index(choose_name(names, wanted))
    task = Classification(("no", "yes"))
    return {name: vote[:, column] for name, vote in votes.items()}, task, ()
