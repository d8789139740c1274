"""Plain `.npz`: one array per modality, flat over time or padded, with an array of lengths.

`skeleton` `[steps of all clips, dim]` with `skeleton_len` `[clips]`, or `skeleton`
`[clips, time, dim]` with or without lengths. Other arrays with one entry a clip are labels, ids,
splits, or further facts about the clips.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mmalign.data.arrays import Array
from mmalign.data.dataset import Dataset
from mmalign.data.labels import Column, encode_labels, task_of_column
from mmalign.data.readers.labels import choose_name
from mmalign.data.readers.npz_contents import Contents, named, read_contents
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.values import to_texts
from mmalign.data.split import Split
from mmalign.data.split_names import ALL_TRAIN, rows_by_split, split_of
from mmalign.data.task import Classification, Regression, Task
from mmalign.errors import DataError

LABELS = ("label", "labels", "y", "target", "targets")
IDS = ("id", "ids", "clip_id", "clip_ids")
SPLITS = ("split", "splits")
FACTS = (
    *("subject", "participant", "person", "user", "speaker", "gender", "age"),
    *("trial", "session", "recording", "repetition", "video", "dialogue"),
    *("fold", "group", "index"),
)
"""Names of arrays that tell clips apart and are nobody's label, in the singular."""


def read_files(files: Mapping[str, Path] | Path, options: ReadOptions) -> Dataset:
    """Read one file with all splits, or one file per split.

    Raises:
        DataError: If the arrays do not fit together, or it is open which one is the label.
    """
    by_split = {"": files} if isinstance(files, Path) else files
    contents = {name: read_contents(file) for name, file in by_split.items()}
    first = next(iter(contents.values()))
    for content in contents.values():
        if content.dims != first.dims:
            problem = (
                f"modalities are {dict(content.dims)}, in {first.file.name} {dict(first.dims)}"
            )
            raise DataError(problem, file=content.file)
    key = _label_key(first, options.label)
    task = _task(list(contents.values()), key)
    splits: dict[str, Split] = {}
    notes = (
        [] if key is None or key in LABELS else [f"label: took {key!r}; --label chooses another"]
    )
    if first.unused:
        notes.append(f"not used, as they fit no clip: {', '.join(sorted(first.unused))}")
    for name, content in contents.items():
        whole = _to_split(content, key, task, name)
        parts = {name: whole} if name else _by_split(whole, content)
        splits |= parts
        if not name and list(parts) == ["train"] and not named(content.facts, SPLITS):
            notes.append(ALL_TRAIN)
    return Dataset(task, first.dims, splits, tuple(notes))


def _label_key(content: Contents, wanted: str | None) -> str | None:
    """The user's choice; a usual name; or the only array that could be one."""
    known = (*IDS, *SPLITS)
    names = [name for name in content.facts if name.lower() not in known]
    if wanted is not None:
        return choose_name(names, wanted)
    usual = next((name for name in names if name.lower() in LABELS), None)
    if usual is not None:
        return usual
    candidates = [name for name in names if name.lower().rstrip("s") not in FACTS]
    if len(candidates) > 1:
        raise DataError(
            f"any of {', '.join(candidates)} could be the label",
            file=content.file,
            fix="Choose one with --label NAME, or call it `label`.",
        )
    return candidates[0] if candidates else None


def _task(contents: Sequence[Contents], key: str | None) -> Task:
    classes = next((content.classes for content in contents if content.classes), ())
    if key is None or classes:
        return Regression() if key is None else Classification(classes)
    columns = [content.facts[key] for content in contents if key in content.facts]
    return task_of_column(_plain(np.concatenate(columns)))


def _plain(values: Array) -> Column:
    """Texts or numbers of an array with one entry a clip."""
    return to_texts(values) if values.dtype.kind in "US" else values


def _to_split(content: Contents, key: str | None, task: Task, name: str) -> Split:
    ids = _ids(content, name)
    values = None if key is None else content.facts.get(key)
    labels = None if values is None else encode_labels(ids, _plain(values), task)
    return Split(ids=ids, labels=labels, sequences=content.features)


def _ids(content: Contents, split: str) -> tuple[str, ...]:
    """Stored ids; else the facts about each clip, if they tell it from all others; else numbers."""
    stored = named(content.facts, IDS)
    if stored:
        column = content.facts[stored]
        return tuple(map(str, _plain(column)))
    hidden = (*SPLITS, *LABELS)
    facts = {
        n: c for n, c in content.facts.items() if n.lower() not in hidden and c.dtype.kind in "iuUS"
    }
    rows = zip(*map(_plain, facts.values()), strict=True)
    ids = ["-".join(f"{n}{value}" for n, value in zip(facts, row, strict=True)) for row in rows]
    if ids and len(set(ids)) == len(ids):
        return tuple(ids)
    return tuple(f"{split or 'clip'}-{number:05d}" for number in range(content.clips))


def _by_split(whole: Split, content: Contents) -> dict[str, Split]:
    """Splits by the array `split`, or by the file's name; else all clips are in train."""
    key = named(content.facts, SPLITS)
    if key is None:
        return {split_of(content.file.stem) or "train": whole}
    try:
        rows = rows_by_split(to_texts(content.facts[key]), whole.ids)
    except DataError as error:
        raise error.located(file=content.file) from None
    return {name: whole.select(indices) for name, indices in rows.items()}
