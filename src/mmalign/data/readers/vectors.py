"""Word vectors: a table of numbers, and which word has which row."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64

from mmalign.data.arrays import read_npy, read_npz
from mmalign.data.clip import Steps
from mmalign.data.columns import to_float32
from mmalign.data.pickles import map_file, read_pickle
from mmalign.data.readers.glove import read_glove
from mmalign.data.readers.kinds import Kind, kind_of
from mmalign.data.readers.torch_file import Tensor, read_torch
from mmalign.data.readers.values import describe, to_array, to_texts
from mmalign.errors import DataError, located

BESIDE = ("embedding_and_mapping.pt", "embedding.p", "glove*.npz", "glove*.txt", "*.vec")
"""Names under which word vectors lie beside the clips, in the order of preference."""

UNKNOWN = ("<unk>", "<UNK>", "[UNK]")

HOW_TO_GIVE = (
    "Give a file of word vectors with --vectors FILE (vectors=... in Python): "
    "embedding_and_mapping.pt, glove*.txt, or an npz with the vectors and their words."
)

Table = Float32[np.ndarray, "_ _"]
Rows = Int64[np.ndarray, " _"]
"""Rows of a table, one per step; anonymous axes, as clips differ in length."""


@dataclass(frozen=True)
class WordVectors:
    """A table of vectors; without `rows` it can be asked by id only."""

    file: Path
    table: Table
    rows: Mapping[str, int] | None

    @property
    def dim(self) -> int:
        """Numbers per vector."""
        return int(self.table.shape[1])

    @property
    def unknown_row(self) -> int:
        """Row for words without a vector; -1, which stands for zeros, if the table has none."""
        return next((self.rows[w] for w in UNKNOWN if w in self.rows), -1) if self.rows else -1

    def rows_of(self, words: Sequence[str]) -> Rows:
        """The row of each word, as written or in lower case; -1 where it has none."""
        rows = self.rows or {}
        found = (rows.get(word, rows.get(word.lower(), -1)) for word in words)
        return np.fromiter(found, np.int64, len(words))

    def gather(self, rows: Rows) -> Steps:
        """One vector per step; the unknown word's vector, or zeros, where the row is -1."""
        is_unknown = rows < 0
        if not is_unknown.any():
            exact: Steps = self.table[rows]
            return exact
        steps: Steps = self.table[np.where(is_unknown, max(self.unknown_row, 0), rows)]
        if self.unknown_row < 0:
            steps[is_unknown] = 0.0
        return steps


def find_vectors(folder: Path, wanted: Path | None) -> Path | None:
    """The file the user named, or one with a usual name in the folder."""
    if wanted is not None:
        return wanted
    return next((f for name in BESIDE for f in sorted(folder.glob(name)) if f.is_file()), None)


def load_vectors(file: Path, vocabulary: Collection[str]) -> WordVectors:
    """Read word vectors of any supported kind, told apart by content.

    Args:
        file: The file.
        vocabulary: The words that will be looked up; a text file of two million vectors is read
            for these only.

    Raises:
        DataError: If it is no file of word vectors.
    """
    with located(file=file):
        match kind_of(file):
            case Kind.NPZ:
                return _from_npz(file)
            case Kind.TORCH:
                return _from_value(file, read_torch(file))
            case Kind.NPY:
                return _checked(file, read_npy(file), None)
            case Kind.PICKLE if not _is_printable(file):
                return _from_value(file, read_pickle(file))
        words, table = read_glove(map_file(file), vocabulary)
        return _checked(file, table, {word: row for row, word in enumerate(words)})


def _is_printable(file: Path) -> bool:
    """Whether it begins as a line of text, and is no pickle of protocol 0."""
    start = bytes(map_file(file)[:200]).split(b"\n")[0]
    return b" " in start and b"\x00" not in start and start[:1] != b"\x80"


def _from_npz(file: Path) -> WordVectors:
    arrays = read_npz(file)
    tables = [array for array in arrays.values() if array.ndim == 2 and array.dtype.kind == "f"]
    texts = [array for array in arrays.values() if array.ndim == 1 and array.dtype.kind in "US"]
    if len(tables) != 1 or len(texts) != 1 or len(tables[0]) != len(texts[0]):
        raise DataError(
            "not word vectors",
            fix="Expected an array [words, dim] and an array of as many words.",
        )
    words = to_texts(texts[0])
    return _checked(file, tables[0], {word: row for row, word in enumerate(words)})


def _from_value(file: Path, value: Any) -> WordVectors:
    """A table alone, or a table and a dict from words to rows, in either order."""
    parts = value if isinstance(value, tuple | list) and len(value) == 2 else (value,)
    tables = [p.array() if isinstance(p, Tensor) else p for p in parts if not isinstance(p, dict)]
    rows = next((part for part in parts if isinstance(part, dict)), None)
    if len(tables) != 1 or not isinstance(tables[0], np.ndarray):
        raise DataError(f"not word vectors but {describe(value)}", fix=HOW_TO_GIVE)
    return _checked(file, tables[0], rows)


def _checked(file: Path, table: Any, rows: Mapping[Any, Any] | None) -> WordVectors:
    numbers = to_float32(to_array(table, dims=2))
    if 0 in numbers.shape:
        raise DataError("a table of word vectors without words", fix=HOW_TO_GIVE)
    if rows is not None:
        is_row = (isinstance(w, str) and isinstance(r, int) for w, r in rows.items())
        if not all(is_row) or not all(0 <= r < len(numbers) for r in rows.values()):
            raise DataError("the words do not fit the table of vectors", fix=HOW_TO_GIVE)
    return WordVectors(file, numbers, rows)
