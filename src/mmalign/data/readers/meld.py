"""MM-Align's MELD: lists of dicts with `token_ids`, `video_features`, `audio_features`, `label`.

The tokens are rows of `embedding.p`, a pickled array of word vectors beside the files.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.dataset import Dataset
from mmalign.data.labels import LabelColumn, task_of_column
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.rows import Part, Row, assemble_rows, find_texts
from mmalign.data.readers.values import is_text, to_numbers, to_steps, to_text, unexpected
from mmalign.errors import located

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
    options.require_no_label()
    parts = {}
    for name, (file, value) in values.items():
        with located(file=file, split=name):
            rows = [_to_row(item, f"{name}-{n:05d}") for n, item in enumerate(value)]
            parts[name] = Part(file, rows)
    texts = find_texts(parts, next(iter(parts.values())).file.parent, options)
    are_names = all(isinstance(label, str) for part in parts.values() for label in part.labels)
    labels: dict[str, LabelColumn] = {
        name: part.labels if are_names else np.array(part.labels) for name, part in parts.items()
    }
    every = [label for part in parts.values() for label in part.labels]
    task = task_of_column(every if are_names else np.array(every))
    note = "" if are_names else "classes are numbered: the files do not store their names"
    return assemble_rows(parts, texts, labels, task, (note,))


def _to_row(item: Any, place: str) -> Row:
    if not isinstance(item, dict):
        raise unexpected("a dict", item, clip=place)
    stored = next((item[key] for key in IDS if is_text(item.get(key))), None)
    place = place if stored is None else to_text(stored)
    with located(clip=place):
        tokens = item.get("token_ids")
        return Row(
            id=place,
            label=_label(item.get("label")),
            words=None,
            word_ids=None if tokens is None else to_numbers(tokens),
            features={m: _steps(item.get(key)) for m, key in FEATURES.items()},
        )


def _label(value: Any) -> int | str:
    if is_text(value):
        return to_text(value)
    numbers = to_numbers(value)
    if len(numbers) != 1 or numbers[0] != np.floor(numbers[0]):
        raise unexpected("a class", value)
    return int(numbers[0])


def _steps(value: Any) -> Array | None:
    return None if value is None else to_steps(value)
