"""MM-Align's MELD: lists of dicts with `token_ids`, `video_features`, `audio_features`, `label`.

The tokens are rows of `embedding.p`, a pickled array of word vectors beside the files.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.dataset import Dataset
from mmalign.data.labels import encode_labels, task_of_column
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.rows import Part, Row, common_part_dim, find_texts
from mmalign.data.readers.values import describe, is_text, to_array, to_numbers, to_text
from mmalign.errors import DataError

FEATURES = {"visual": "video_features", "acoustic": "audio_features"}
IDS = ("id", "utt_id", "utterance_id", "name")


def recognises(value: Any) -> bool:
    """Whether the value is a list of such clips, as far as its first item tells."""
    if not isinstance(value, list | tuple) or not value or not isinstance(value[0], dict):
        return False
    return "label" in value[0] and any(key in value[0] for key in FEATURES.values())


def to_dataset(values: Mapping[str, tuple[Path, Any]], options: ReadOptions) -> Dataset:
    """The dataset of one or more splits.

    Raises:
        DataError: If a clip is not laid out as this format lays out clips.
    """
    parts = {}
    for name, (file, value) in values.items():
        try:
            parts[name] = Part(
                file, [_to_row(item, f"{name}-{n:05d}") for n, item in enumerate(value)]
            )
        except DataError as error:
            raise error.located(file=file, split=name) from None
    texts = find_texts(parts, next(iter(parts.values())).file.parent, options)
    dims = {"text": texts.dim, **{m: common_part_dim(parts, m) for m in FEATURES}}
    known = {name: dim for name, dim in dims.items() if dim is not None}
    labels = {name: [row.label for row in part.rows] for name, part in parts.items()}
    every = [label for split in labels.values() for label in split]
    are_names = all(isinstance(label, str) for label in every)
    task = task_of_column(every if are_names else np.array(every))
    splits = {}
    for name, part in parts.items():
        values_of = labels[name] if are_names else np.array(labels[name])
        encoded = encode_labels(part.ids, values_of, task)
        splits[name] = part.split(encoded, texts.by_split.get(name), None).only(list(known))
    note = () if are_names else ("classes are numbered: the files do not store their names",)
    return Dataset(task, known, splits, (*note, *texts.notes))


def _to_row(item: Any, place: str) -> Row:
    if not isinstance(item, dict):
        raise DataError(f"expected a dict, got {describe(item)}", clip=place)
    stored = next((item[key] for key in IDS if is_text(item.get(key))), None)
    place = place if stored is None else to_text(stored)
    try:
        tokens = item.get("token_ids")
        return Row(
            id=place,
            label=_label(item.get("label")),
            words=None,
            word_ids=None if tokens is None else to_numbers(tokens),
            features={m: _steps(item.get(key)) for m, key in FEATURES.items()},
        )
    except DataError as error:
        raise error.located(clip=place) from None


def _label(value: Any) -> int | str:
    if is_text(value):
        return to_text(value)
    numbers = to_numbers(value)
    if len(numbers) != 1 or numbers[0] != np.floor(numbers[0]):
        raise DataError(f"expected a class, got {describe(value)}")
    return int(numbers[0])


def _steps(value: Any) -> Array | None:
    if value is None:
        return None
    array = to_array(value, dims=2)
    return array if len(array) else None
