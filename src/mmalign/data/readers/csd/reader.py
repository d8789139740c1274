"""A folder of .csd files as a dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mmalign.data.clip import StepsColumn
from mmalign.data.dataset import Dataset
from mmalign.data.labels import encode_labels
from mmalign.data.readers.columns import Column
from mmalign.data.readers.csd.folder import Folder, sort_files
from mmalign.data.readers.csd.folds import corpus_of, standard_folds, video_of
from mmalign.data.readers.csd.segments import Segment, cut, find_segments
from mmalign.data.readers.csd.sequences import FeatureSequence, read_sequences
from mmalign.data.readers.labels import ChosenColumn, choose_column
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.rows import Part, Row, Texts, find_texts
from mmalign.data.split import Split
from mmalign.data.split_names import ALL_TRAIN, SPLITS, in_order
from mmalign.progress import track

BySplit = Mapping[str, Sequence[Segment]]


def read_folder(path: Path, options: ReadOptions) -> Dataset:
    """Read a folder of .csd files.

    Raises:
        DataError: If a file is damaged, or the labels are missing.
    """
    folder = sort_files(read_sequences(sorted(path.glob("*.csd"))), path)
    segments, empty = find_segments(folder)
    notes = [f"left out {empty} segments without words or features"] if empty else []
    chosen = choose_column(folder.labels.dim, options.label)
    by_split, fold_notes = _by_fold(segments)
    texts = _texts(folder, by_split, path, options)
    if texts.dim is not None:
        others = {name: s for name, s in folder.modalities.items() if name != "text"}
        folder = replace(folder, modalities=others)
    dims = {} if texts.dim is None else {"text": texts.dim}
    dims |= {name: sequence.dim for name, sequence in folder.modalities.items()}
    splits = {
        name: _to_split(folder, members, chosen, texts, name) for name, members in by_split.items()
    }
    gaps = _gap_notes(folder, segments)
    every = (*chosen.notes, *fold_notes, *texts.notes, *notes, *gaps)
    return Dataset(chosen.task, dims, splits, every)


def _to_split(
    folder: Folder, segments: Sequence[Segment], chosen: ChosenColumn, texts: Texts, name: str
) -> Split:
    ids = [segment.id for segment in segments]
    labels = np.array([segment.label[chosen.index] for segment in segments])
    columns: dict[str, StepsColumn] = {}
    if texts.dim is not None:
        columns["text"] = texts.by_split[name].column
    columns |= {m: _column(sequence, segments) for m, sequence in folder.modalities.items()}
    return Split(
        ids=tuple(ids),
        labels=encode_labels(ids, labels, chosen.task),
        sequences=columns,
        words=None if folder.words is None else [segment.words for segment in segments],
        times=None if folder.pivot is None else [segment.times for segment in segments],
    )


def _column(sequence: FeatureSequence, segments: Sequence[Segment]) -> Column:
    return Column(len(segments), lambda index: cut(sequence, segments[index])[0])


def _gap_notes(folder: Folder, segments: Sequence[Segment]) -> list[str]:
    notes = []
    for name, sequence in folder.modalities.items():
        gaps = sum(cut(sequence, segment)[1] for segment in track(segments, f"checking {name}"))
        if gaps:
            notes.append(f"{name}: {gaps} words overlap no frame and got zeros")
    return notes


def _by_fold(segments: Sequence[Segment]) -> tuple[BySplit, list[str]]:
    """Segments by the standard fold of their video; all in train if the corpus is unknown."""
    corpus = corpus_of(video_of(segment.id) for segment in segments)
    if corpus is None:
        return {"train": segments} if segments else {}, [ALL_TRAIN]
    folds = standard_folds()[corpus]
    members: dict[str, list[Segment]] = {name: [] for name in SPLITS}
    outside = 0
    for segment in segments:
        split = folds.get(video_of(segment.id))
        if split is None:
            outside += 1
        else:
            members[split].append(segment)
    notes = [f"splits are the standard folds of {corpus}"]
    if outside:
        notes.append(f"left out {outside} segments of videos that are in no standard fold")
    return in_order(members), notes


def _texts(folder: Folder, by_split: BySplit, path: Path, options: ReadOptions) -> Texts:
    """Vectors for the words, unless a .csd file brings them."""
    if folder.words is None or ("text" in folder.modalities and options.vectors is None):
        return Texts({}, ())
    parts = {
        name: Part(folder.labels.file, [Row(s.id, s.label, s.words, None, {}) for s in members])
        for name, members in by_split.items()
    }
    return find_texts(parts, path, options)
