"""Clips as the layouts of MISA, BBFN and MM-Align store them: a row of arrays and words each."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mmalign.allowance import memory_allowed
from mmalign.data.arrays import Array
from mmalign.data.clip import Times
from mmalign.data.columns import MadeColumn, column_of
from mmalign.data.dataset import Dataset
from mmalign.data.labels import LabelColumn
from mmalign.data.readers.drafts import Draft, assemble
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.vectors import (
    HOW_TO_GIVE,
    Rows,
    WordVectors,
    find_vectors,
    load_vectors,
)
from mmalign.data.task import Task
from mmalign.errors import DataError


@dataclass(frozen=True, slots=True)
class Row:
    """One clip before its words have vectors."""

    id: str
    label: Any
    words: list[str] | None
    word_ids: Array | None
    features: Mapping[str, Array | None]

    @property
    def word_count(self) -> int:
        """Steps of the text modality."""
        if self.words is not None:
            return len(self.words)
        return 0 if self.word_ids is None else len(self.word_ids)


@dataclass(frozen=True)
class Part:
    """The rows of one split and the file they came from."""

    file: Path
    rows: Sequence[Row]

    def __post_init__(self) -> None:
        """Refuse rows that refer to the same array again and again: a bomb of few bytes."""
        total = sum(a.nbytes for row in self.rows for a in row.features.values() if a is not None)
        if total > memory_allowed(self.file.stat().st_size):
            raise DataError(
                f"the clips add up to {total:,} bytes, far more than the file has",
                file=self.file,
                fix="They refer to the same arrays over and over; write the file again.",
            )

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the clips, in order."""
        return tuple(row.id for row in self.rows)

    @property
    def labels(self) -> list[Any]:
        """Labels of the clips, in order."""
        return [row.label for row in self.rows]

    @property
    def words(self) -> list[list[str] | None] | None:
        """Words of the clips, in order, if any clip has them."""
        words = [row.words for row in self.rows]
        return None if all(known is None for known in words) else words


@dataclass(frozen=True)
class Texts:
    """The text modality of all splits, and what its user should know about it."""

    by_split: Mapping[str, MadeColumn]
    dim: int | None
    notes: tuple[str, ...]


def assemble_rows(
    parts: Mapping[str, Part],
    texts: Texts,
    labels: Mapping[str, LabelColumn],
    task: Task,
    notes: Iterable[str] = (),
    times: Mapping[str, Sequence[Times | None] | None] | None = None,
) -> Dataset:
    """The dataset of these rows; text is the first modality, as in the papers.

    Raises:
        DataError: If clips disagree on a dim, or a label does not fit the task.
    """
    features = dict.fromkeys(
        m for part in parts.values() for row in part.rows for m in row.features
    )
    dims = {"text": texts.dim, **{modality: _common_dim(parts, modality) for modality in features}}
    drafts = {}
    for name, part in parts.items():
        columns = {m: column_of([row.features.get(m) for row in part.rows]) for m in features}
        if name in texts.by_split:
            columns["text"] = texts.by_split[name]
        when = times.get(name) if times else None
        drafts[name] = Draft(part.ids, labels[name], columns, part.words, when, part.file)
    known = {name: dim for name, dim in dims.items() if dim is not None}
    return assemble(drafts, known, task, (*notes, *texts.notes))


def _common_dim(parts: Mapping[str, Part], modality: str) -> int | None:
    dim: int | None = None
    for name, part in parts.items():
        for row in part.rows:
            array = row.features.get(modality)
            if array is not None and dim not in (None, array.shape[1]):
                raise DataError(
                    f"dim is {array.shape[1]}, in the clips before {dim}",
                    file=part.file,
                    split=name,
                    clip=row.id,
                    modality=modality,
                    fix="All clips share one feature dimension per modality.",
                )
            dim = dim if array is None else int(array.shape[1])
    return dim


def find_texts(parts: Mapping[str, Part], folder: Path, options: ReadOptions) -> Texts:
    """Vectors for the words of every split, from the user's file or one in the folder.

    Raises:
        DataError: If the file cannot be read, or a word id lies outside its table.
    """
    file = find_vectors(folder, options.vectors)
    if file is None:
        note = f"text is left out: there are no word vectors in {folder.name}/. {HOW_TO_GIVE}"
        return Texts({}, None, (note,))
    words = {w for part in parts.values() for row in part.rows for w in row.words or ()}
    vectors = load_vectors(file, words)
    unknown = Counter[str]()
    by_split = {}
    for name, part in parts.items():
        rows = [_rows_of(row, vectors, part) for row in part.rows]
        by_split[name] = _column(vectors, rows)
        for row, found in zip(part.rows, rows, strict=True):
            names = row.words or list(map(str, found.tolist()))
            is_unknown = (found < 0) | (found == vectors.unknown_row)
            unknown.update(names[step] for step in np.flatnonzero(is_unknown))
    total = sum(row.word_count for part in parts.values() for row in part.rows)
    return Texts(by_split, vectors.dim, _unknown_note(unknown, total, file))


def _column(vectors: WordVectors, rows: Sequence[Rows]) -> MadeColumn:
    """One sequence of word vectors a clip, made when asked for; None for a clip without words."""
    return MadeColumn(len(rows), lambda i: vectors.gather(rows[i]) if len(rows[i]) else None)


def _rows_of(row: Row, vectors: WordVectors, part: Part) -> Rows:
    if row.words is not None and vectors.rows is not None:
        return vectors.rows_of(row.words)
    if row.word_ids is None:
        raise DataError(
            "the vectors can be asked by id only, and the clips store words only",
            file=vectors.file,
            fix=HOW_TO_GIVE,
        )
    ids: Rows = row.word_ids.astype(np.int64)
    if len(ids) and not (ids.min() >= 0 and ids.max() < len(vectors.table)):
        raise DataError(
            f"a word id is outside 0..{len(vectors.table) - 1}",
            file=part.file,
            clip=row.id,
            fix=f"{vectors.file.name} belongs to other clips. {HOW_TO_GIVE}",
        )
    return ids


def _unknown_note(unknown: Counter[str], total: int, file: Path) -> tuple[str, ...]:
    if not unknown:
        return ()
    examples = ", ".join(word for word, _ in unknown.most_common(5))
    count = sum(unknown.values())
    return (
        f"text: {count} of {total} words ({len(unknown)} different: {examples}"
        f"{', …' if len(unknown) > 5 else ''}) have no vector in {file.name}",
    )
