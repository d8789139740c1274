"""MELD's `{train,dev,test}_sent_emo.csv`: text and labels of every utterance."""

import re
from collections.abc import Sequence
from pathlib import Path

from mmalign.data.dataset import Dataset
from mmalign.data.labels import task_of_column
from mmalign.data.readers.labels import choose_name
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.rows import Part, Row, assemble_rows, find_texts
from mmalign.data.readers.tables import read_header, read_records
from mmalign.data.readers.vectors import HOW_TO_GIVE
from mmalign.data.split_names import in_order, split_of
from mmalign.errors import DataError, MissingVectorsError

COLUMNS = ("Utterance", "Dialogue_ID", "Utterance_ID", "Emotion", "Sentiment")
LABELS = ("Emotion", "Sentiment")
QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\x92": "'", "\x91": "'"})
WORD = re.compile(r"\w+(?=n't)|n't|'(?:s|re|ve|ll|d|m)\b|\w+|[^\w\s]", re.IGNORECASE)
"""Words as GloVe counts them: "didn't" is "did" and "n't"."""


def recognises(file: Path) -> bool:
    """Whether the header is MELD's."""
    return set(COLUMNS) <= set(read_header(file))


def read_files(files: Sequence[Path], options: ReadOptions) -> Dataset:
    """Read one CSV per split.

    Raises:
        DataError: If a file is not MELD's, or there are no word vectors: text is all it has.
    """
    label = choose_name(LABELS, options.label or LABELS[0])
    parts: dict[str, Part] = {}
    for file in files:
        split = split_of(file.stem) or "train"
        if not recognises(file):
            raise DataError(
                "read as CSV, it lacks a column 'clip', or columns of features such as 'wrist.x'",
                file=file,
                fix="Write one row per step, with columns clip, label, wrist.x, …: see "
                "docs/own-data.md. (It is not MELD's either.)",
            )
        parts[split] = Part(file, _rows(file, split, label))
    parts = in_order(parts)
    clips = ", ".join(f"{name} {len(part.rows)}" for name, part in parts.items())
    texts = find_texts(parts, files[0].parent, options)
    if texts.dim is None:
        raise MissingVectorsError(
            f"MELD's CSV files ({clips}) hold words only, which need vectors", fix=HOW_TO_GIVE
        )
    labels = {name: part.labels for name, part in parts.items()}
    task = task_of_column([label for values in labels.values() for label in values])
    others = ", ".join(name.lower() for name in LABELS if name != label)
    note = f"label: took {label.lower()}; choose {others} with --label"
    return assemble_rows(parts, texts, labels, task, (note,))


def _rows(file: Path, split: str, label: str) -> list[Row]:
    rows = []
    for record in read_records(file):
        # Dialogues are counted anew in every split.
        clip_id = f"{split}_dia{record['Dialogue_ID']}_utt{record['Utterance_ID']}"
        words = WORD.findall(record["Utterance"].translate(QUOTES))
        rows.append(Row(clip_id, record[label], words or ["<unk>"], None, {}))
    return rows
