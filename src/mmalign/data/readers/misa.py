"""MISA, BBFN and MM-Align: `train.pkl`, `dev.pkl`, `test.pkl` of word-aligned clips.

Each file is a list of `((word ids, visual, acoustic, words), label, id)`. Variants: six items, the
last two being lengths of visual and acoustic; three items, words as text (MAG-BERT); one dict of
all splits.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mmalign.data.arrays import Array, read_npz
from mmalign.data.clip import Times
from mmalign.data.dataset import Dataset
from mmalign.data.readers.labels import choose_labels
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.rows import Part, Row, assemble_rows, find_texts
from mmalign.data.readers.values import (
    is_text,
    to_array,
    to_numbers,
    to_steps,
    to_text,
    to_texts,
    unexpected,
)
from mmalign.errors import DataError, located

LAYOUT = "((word ids, visual, acoustic, words), label, id)"


def recognises(value: Any) -> bool:
    """Whether the value is a list of such clips, as far as its first item tells."""
    if not isinstance(value, list | tuple) or not value:
        return False
    clip = value[0]
    is_triple = isinstance(clip, list | tuple) and len(clip) == 3
    return is_triple and isinstance(clip[0], list | tuple) and len(clip[0]) in (3, 4, 6)


def to_dataset(
    values: Mapping[str, tuple[Path, Any]], options: ReadOptions, folder: Path | None = None
) -> Dataset:
    """The dataset of one or more splits.

    Args:
        values: For each split, its file and what was in it.
        options: Which label, which vectors.
        folder: Where word vectors are looked for; by default beside the first file.

    Raises:
        DataError: If a clip is not laid out as this format lays out clips.
    """
    parts, notes = {}, []
    for name, (file, value) in values.items():
        with located(split=name):
            rows = to_rows(value, file)
            parts[name] = Part(file, [row for row in rows if _has_steps(row)])
        dropped = [row.id for row in rows if not _has_steps(row)]
        if dropped:
            notes.append(f"{name}: left out {len(dropped)} clips without steps ({dropped[0]}, …)")
    texts = find_texts(parts, folder or next(iter(parts.values())).file.parent, options)
    tables = {name: _label_table(part) for name, part in parts.items()}
    labels, task, label_notes = choose_labels(tables, options.label)
    times = {name: _times(part) for name, part in parts.items()}
    return assemble_rows(parts, texts, labels, task, (*label_notes, *notes), times)


def to_rows(value: Any, file: Path) -> list[Row]:
    """The clips of one file.

    Raises:
        DataError: If a clip is not laid out as this format lays out clips.
    """
    with located(file=file):
        return [_to_row(item, number) for number, item in enumerate(value)]


def _to_row(item: Any, number: int) -> Row:
    if not isinstance(item, list | tuple) or len(item) != 3:
        raise unexpected(LAYOUT, item, clip=f"number {number}")
    content, label, identity = item
    with located(clip=to_text(identity) if is_text(identity) else f"number {number}"):
        if not isinstance(content, list | tuple) or len(content) not in (3, 4, 6):
            raise unexpected(f"{LAYOUT}, with 3, 4 or 6 items first", content)
        words, visual, acoustic = content[:3]
        has_ids = isinstance(words, np.ndarray) and words.dtype.kind in "iu"
        texts = content[3] if len(content) > 3 else None if has_ids else words
        lengths = [_length(value) for value in content[4:6]] or [None, None]
        return Row(
            id=to_text(identity),
            label=to_numbers(label),
            words=None if texts is None else to_texts(texts),
            word_ids=to_array(words, dims=1) if has_ids else _maybe_ids(words),
            features={
                "visual": to_steps(visual, lengths[0]),
                "acoustic": to_steps(acoustic, lengths[1]),
            },
        )


def _length(value: Any) -> int | None:
    numbers = to_numbers(value)
    if len(numbers) != 1 or not 0 <= numbers[0] < 1 << 48:
        raise unexpected("a length", value)
    return int(numbers[0])


def _maybe_ids(words: Any) -> Array | None:
    """Word ids that were stored as a list; None where the words are text."""
    if isinstance(words, list | tuple) and words and is_text(words[0]):
        return None
    return to_numbers(words) if isinstance(words, list | tuple) else None


def _has_steps(row: Row) -> bool:
    return row.word_count > 0 or any(array is not None for array in row.features.values())


def _label_table(part: Part) -> Array:
    """Labels `[clips, columns]`; integers are classes, as in UR-FUNNY."""
    columns = {len(row.label) for row in part.rows}
    if len(columns) > 1:
        raise DataError(
            f"clips have different numbers of labels: {sorted(columns)[:5]}",
            file=part.file,
            fix="Store as many labels with every clip.",
        )
    return np.array(part.labels).reshape(len(part.rows), max(columns, default=1))


def _times(part: Part) -> list[Times | None] | None:
    """Start and end of each word, from `*_word_times.npz` beside the file."""
    file = part.file.with_name(f"{part.file.stem}_word_times.npz")
    if not file.is_file():
        return None
    arrays = read_npz(file)
    times, lengths = arrays.get("times"), arrays.get("length")
    words = [row.word_count for row in part.rows]
    if (
        times is None
        or lengths is None
        or lengths.tolist() != words
        or times.shape != (sum(words), 2)
    ):
        raise DataError(
            f"does not hold the times of the words in {part.file.name}",
            file=file,
            fix="Expected `times` [words, 2] and `length` [clips]; remove the file to go without.",
        )
    return list(np.split(times.astype(np.float64), np.cumsum(words)[:-1]))
