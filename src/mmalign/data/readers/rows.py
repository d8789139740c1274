"""Clips as the layouts of MISA, BBFN and MM-Align store them: a row of arrays and words each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.clip import Steps, StepsColumn, Times
from mmalign.data.readers.columns import Column, column_of
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.values import common_dim
from mmalign.data.readers.vectors import (
    HOW_TO_GIVE,
    Rows,
    WordVectors,
    find_vectors,
    load_vectors,
)
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.errors import DataError

SPARE_BYTES = 1 << 26
REFERENCES = 4


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
        if total > REFERENCES * self.file.stat().st_size + SPARE_BYTES:
            raise DataError(
                f"the clips add up to {total:,} bytes, far more than the file has",
                file=self.file,
                fix="They refer to the same arrays over and over; write the file anew.",
            )

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the clips, in order."""
        return tuple(row.id for row in self.rows)

    def dim(self, modality: str) -> int | None:
        """Feature dimension of a modality, if any clip has it."""
        arrays = [row.features.get(modality) for row in self.rows]
        try:
            return common_dim(arrays, modality, self.ids)
        except DataError as error:
            raise error.located(file=self.file) from None

    def split(
        self, labels: Labels | None, text: "Text | None", times: Sequence[Times | None] | None
    ) -> Split:
        """The split of these rows; text is the first modality, as in the papers."""
        features = list(self.rows[0].features) if self.rows else []
        columns: dict[str, StepsColumn] = {} if text is None else {"text": text.column}
        columns |= {
            name: column_of([row.features.get(name) for row in self.rows]) for name in features
        }
        has_words = any(row.words is not None for row in self.rows)
        return Split(
            ids=self.ids,
            labels=labels,
            sequences=columns,
            words=[row.words for row in self.rows] if has_words else None,
            times=times,
        )


def common_part_dim(parts: Mapping[str, Part], modality: str) -> int | None:
    """Feature dimension of a modality in all splits; None if no clip has it.

    Raises:
        DataError: If two splits disagree.
    """
    common: int | None = None
    for name, part in parts.items():
        dim = part.dim(modality)
        if dim is not None and common not in (None, dim):
            problem = f"dim is {dim}, in the splits before {common}"
            raise DataError(problem, file=part.file, split=name, modality=modality)
        common = common if dim is None else dim
    return common


@dataclass(frozen=True)
class Text:
    """The text modality of one split: rows of the table, turned into vectors when asked for."""

    vectors: WordVectors
    rows: Sequence[Rows]

    @property
    def column(self) -> Column:
        """One sequence of word vectors a clip; None for a clip without words."""

        def make(index: int) -> Steps | None:
            rows = self.rows[index]
            return self.vectors.gather(rows) if len(rows) else None

        return Column(len(self.rows), make)


@dataclass(frozen=True)
class Texts:
    """The text modality of all splits, and what its user should know about it."""

    by_split: Mapping[str, Text]
    notes: tuple[str, ...]

    @property
    def dim(self) -> int | None:
        """Numbers per word; None where there are no vectors."""
        return next((text.vectors.dim for text in self.by_split.values()), None)


def find_texts(parts: Mapping[str, Part], folder: Path, options: ReadOptions) -> Texts:
    """Vectors for the words of every split, from the user's file or one in the folder.

    Raises:
        DataError: If the file cannot be read, or a word id lies outside its table.
    """
    file = find_vectors(folder, options.vectors)
    if file is None:
        note = f"text is left out: there are no word vectors in {folder.name}/. {HOW_TO_GIVE}"
        return Texts({}, (note,))
    words = {w for part in parts.values() for row in part.rows for w in row.words or ()}
    vectors = load_vectors(file, words)
    unknown = Counter[str]()
    by_split = {}
    for name, part in parts.items():
        by_split[name] = Text(vectors, [_rows_of(row, vectors, part) for row in part.rows])
        for row, found in zip(part.rows, by_split[name].rows, strict=True):
            names = row.words or list(map(str, found.tolist()))
            is_unknown = (found < 0) | (found == vectors.unknown_row)
            unknown.update(names[step] for step in np.flatnonzero(is_unknown))
    total = sum(row.word_count for part in parts.values() for row in part.rows)
    return Texts(by_split, _unknown_note(unknown, total, file))


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
