"""MMSA and MMSA-FET: `aligned_50.pkl`, `unaligned_50.pkl`, and files of a single clip.

A dict of splits, each with arrays `text`, `vision`, `audio` `[clips, time, dim]`, `text_bert`
`[clips, 3, time]` (its second row marks the tokens), `raw_text`, `id`, and labels as arrays or
lists. Unaligned files store `audio_lengths` and `vision_lengths`; clips are padded at the end.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.dataset import Dataset
from mmalign.data.labels import LabelColumn, task_of_column
from mmalign.data.readers.labels import SENTIMENT, choose_name
from mmalign.data.readers.mult import strip_padding
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.padded import (
    MODALITIES,
    Padded,
    assemble_padded,
    axes_of,
    clip_ids,
    clips_in,
    feature_arrays,
)
from mmalign.data.readers.padding import Bounds, bounds_from_lengths, bounds_of, used_steps
from mmalign.data.readers.values import to_array, to_numbers, to_text, to_texts
from mmalign.data.task import Classification, Task
from mmalign.errors import DataError, located

SIGNS = ("raw_text", "text_bert", "regression_labels", "classification_labels", "audio_lengths")
LABELS = ("regression_labels", "classification_labels", "annotations")


def recognises(content: Any) -> bool:
    """Whether the value is one split of this layout."""
    is_split = isinstance(content, dict) and any(sign in content for sign in SIGNS)
    return is_split and 3 in axes_of(content)


def recognises_clip(content: dict[Any, Any]) -> bool:
    """Whether the value is a single clip: arrays `[time, dim]` without a split level."""
    return axes_of(content) == {2}


def clip_to_dataset(content: Mapping[Any, Any], name: str, options: ReadOptions) -> Dataset:
    """A dataset of one clip, for prediction.

    Raises:
        DataError: If its arrays do not fit each other, or a label is chosen.
    """
    options.require_no_label()
    arrays = {m: to_array(content[m], dims=2)[None] for m in MODALITIES if m in content}
    batch: dict[str, Any] = {**arrays, "id": [to_text(content.get("id", name))]}
    bert = content.get("text_bert")
    if isinstance(bert, np.ndarray) and bert.ndim == 2:
        batch["text_bert"] = bert[None]
    if isinstance(content.get("raw_text"), str):
        batch["raw_text"] = [content["raw_text"]]
    dataset = to_dataset({"test": batch}, replace(options, label=None))
    return replace(dataset, notes=("a single clip, as test split",))


def to_dataset(splits: Mapping[str, Mapping[Any, Any]], options: ReadOptions) -> Dataset:
    """The dataset of these splits.

    Raises:
        DataError: If a split is not laid out as this format lays out splits.
    """
    options.require_no_vectors()
    key = _label_key(splits, options.label)
    task = _task(splits, key)
    arrays = {}
    for name, content in splits.items():
        with located(split=name):
            arrays[name] = feature_arrays(content)
    stripped, _ = strip_padding(arrays)
    padded = {}
    for name, content in splits.items():
        with located(split=name):
            count, texts = clips_in(arrays[name]), content.get("raw_text")
            padded[name] = Padded(
                clip_ids(content.get("id"), count, name),
                arrays[name],
                {m: _bounds(content, m, arrays[name], stripped[name][m]) for m in arrays[name]},
                _labels(content, key, task, count),
                None if texts is None else [text.split() for text in to_texts(texts, count)],
            )
    note = "" if key in (None, LABELS[0]) else f"label: took {key}"
    return assemble_padded(padded, task, (note,))


def _bounds(
    content: Mapping[Any, Any], modality: str, arrays: Mapping[str, Array], stripped: Bounds
) -> Bounds:
    """Bounds from stored lengths, else from the token mask, else from the zeros."""
    count, time, _ = arrays[modality].shape
    stored = content.get(f"{modality}_lengths")
    if stored is not None:
        with located(modality=modality):
            lengths = to_numbers(stored, count, what="lengths").astype(np.int64)
        return bounds_from_lengths(lengths, time)
    tokens = content.get("text_bert")
    if not isinstance(tokens, np.ndarray) or tokens.shape != (count, 3, time):
        return stripped
    # Aligned modalities have a step per token, but never cut what is not padding.
    lengths = (tokens[:, 1] != 0).sum(axis=1)
    ends = stripped if modality == "text" else bounds_of(used_steps(arrays[modality]), "end")
    return bounds_from_lengths(np.maximum(lengths, ends[:, 1]).astype(np.int64), time)


def _label_key(splits: Mapping[str, Mapping[Any, Any]], wanted: str | None) -> str | None:
    first = next(iter(splits.values()))
    names = [n for n in first if isinstance(n, str) and ("labels" in n or n == LABELS[2])]
    if wanted is not None:
        return choose_name(names, wanted)
    return next((name for name in LABELS if name in names), names[0] if names else None)


def _task(splits: Mapping[str, Mapping[Any, Any]], key: str | None) -> Task:
    """The task of the chosen labels."""
    if key is None or key.startswith("regression"):
        return SENTIMENT
    if key == LABELS[2]:
        every = [text for content in splits.values() for text in to_texts(content[key])]
        return task_of_column(every)
    numbers = np.concatenate([to_numbers(content[key]) for content in splits.values()])
    names = _class_names(splits, numbers.astype(np.int64))
    return Classification(names) if names else task_of_column(numbers.astype(np.int64))


def _class_names(splits: Mapping[str, Mapping[Any, Any]], numbers: Array) -> tuple[str, ...]:
    """Names of the classes, where the annotations tell exactly one for each number."""
    try:
        texts = [t for content in splits.values() for t in to_texts(content.get(LABELS[2]))]
    except DataError:
        return ()
    pairs = set(zip(numbers.tolist(), texts, strict=True)) if len(texts) == len(numbers) else set()
    names = dict(pairs)
    is_one_to_one = len(names) == len(pairs) == len(set(names.values()))
    if not is_one_to_one or sorted(names) != list(range(len(names))) or len(names) < 2:
        return ()
    return tuple(names[number] for number in range(len(names)))


def _labels(
    content: Mapping[Any, Any], key: str | None, task: Task, count: int
) -> LabelColumn | None:
    if key is None or content.get(key) is None:
        return None
    if key == LABELS[2]:
        return to_texts(content[key], count)
    numbers = to_numbers(content[key], count, what="labels")
    return numbers.astype(np.int64) if isinstance(task, Classification) else numbers
