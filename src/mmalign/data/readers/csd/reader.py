"""A folder of .csd files as a dataset."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mmalign.data.columns import MadeColumn
from mmalign.data.dataset import Dataset
from mmalign.data.readers.csd.folder import Folder, sort_files
from mmalign.data.readers.csd.folds import corpus_of, standard_folds, video_of
from mmalign.data.readers.csd.segments import Segment, cut, find_segments
from mmalign.data.readers.csd.sequences import FeatureSequence, read_sequences
from mmalign.data.readers.drafts import Draft, assemble
from mmalign.data.readers.labels import choose_labels
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.rows import Part, Row, Texts, find_texts
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
    by_split, fold_notes = _by_fold(segments)
    tables = {name: np.array([s.label for s in members]) for name, members in by_split.items()}
    labels, task, label_notes = choose_labels(tables, options.label)
    texts = _texts(folder, by_split, path, options)
    modalities = dict(folder.modalities)
    if texts.dim is not None:
        modalities.pop("text", None)
    dims = {} if texts.dim is None else {"text": texts.dim}
    dims |= {name: sequence.dim for name, sequence in modalities.items()}
    drafts = {}
    for name, members in by_split.items():
        columns = {m: _column(sequence, members) for m, sequence in modalities.items()}
        if name in texts.by_split:
            columns["text"] = texts.by_split[name]
        drafts[name] = Draft(
            ids=[segment.id for segment in members],
            labels=labels[name],
            sequences=columns,
            words=None if folder.words is None else [segment.words for segment in members],
            times=None if folder.pivot is None else [segment.times for segment in members],
        )
    gaps = _gap_notes(modalities, segments)
    return assemble(drafts, dims, task, (*label_notes, *fold_notes, *texts.notes, *notes, *gaps))


def _column(sequence: FeatureSequence, segments: Sequence[Segment]) -> MadeColumn:
    return MadeColumn(len(segments), lambda index: cut(sequence, segments[index])[0])


def _gap_notes(modalities: Mapping[str, FeatureSequence], segments: Sequence[Segment]) -> list[str]:
    notes = []
    for name, sequence in modalities.items():
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
    """Vectors for the words, unless a .csd file brings them.

    Raises:
        DataError: If vectors are given where no .csd file holds words.
    """
    if folder.words is None:
        options.require_no_vectors()
    if folder.words is None or ("text" in folder.modalities and options.vectors is None):
        return Texts({}, None, ())
    parts = {
        name: Part(folder.labels.file, [Row(s.id, s.label, s.words, None, {}) for s in members])
        for name, members in by_split.items()
    }
    return find_texts(parts, path, options)
