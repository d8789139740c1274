"""Plain `.npz`: one array per modality, flat over time or padded, with an array of lengths.

`skeleton` `[steps of all clips, dim]` with `skeleton_len` `[clips]`, or `skeleton`
`[clips, time, dim]` with or without lengths. Other arrays with one entry a clip are labels, ids,
splits, or further facts about the clips.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mmalign.data.arrays import Array, read_npz
from mmalign.data.clip import Steps
from mmalign.data.dataset import Dataset
from mmalign.data.readers.columns import Column, to_float32
from mmalign.data.readers.labels import choose_name, encode_labels, infer_task
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.splits import ALL_TRAIN, SPLIT_NAMES, split_of
from mmalign.data.readers.values import to_texts
from mmalign.data.split import Split
from mmalign.data.task import Regression, Task
from mmalign.errors import DataError

LENGTHS = ("_len", "_length", "_lengths", "_lens")
SHARED_LENGTHS = ("len", "length", "lengths", "lens")
LABELS = ("label", "labels", "y", "target", "targets")
IDS = ("id", "ids", "clip_id", "clip_ids")
SPLITS = ("split", "splits")
CLASSES = ("classes", "class_names")
FACTS = (
    *("subject", "participant", "person", "user", "speaker", "gender", "age"),
    *("trial", "session", "recording", "repetition", "video", "dialogue"),
    *("fold", "group", "index"),
)
"""Names of arrays that tell clips apart and are nobody's label, in the singular."""


@dataclass(frozen=True)
class Contents:
    """The arrays of one file by their role; every one but `classes` speaks of the same clips."""

    file: Path
    features: Mapping[str, Sequence[Steps | None]]
    dims: Mapping[str, int]
    facts: Mapping[str, Array]
    classes: tuple[str, ...]

    @property
    def clips(self) -> int:
        """Number of clips."""
        return len(next(iter(self.features.values())))


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
    for name, content in contents.items():
        whole = _to_split(content, key, task, name)
        parts = {name: whole} if name else _by_split(whole, content)
        splits |= parts
        if not name and list(parts) == ["train"] and not _named(content.facts, SPLITS):
            notes.append(ALL_TRAIN)
    return Dataset(task, first.dims, splits, tuple(notes))


def read_contents(file: Path) -> Contents:
    """The arrays of a file by their role.

    Raises:
        DataError: If there is no modality, or an array does not fit the number of clips.
    """
    arrays = read_npz(file)
    try:
        lengths = _lengths_of(arrays)
        taken = {name for names in lengths.values() for name in names}
        features = {
            name: _column(name, arrays[name], _only(arrays, lengths[name])) for name in lengths
        }
        clips = _common_count(features)
        classes = _named(arrays, CLASSES)
        facts = {
            name: array
            for name, array in arrays.items()
            if name not in lengths and name not in taken and array.shape in ((clips,), (clips, 1))
        }
        return Contents(
            file,
            features,
            {name: int(arrays[name].shape[-1]) for name in features},
            {name: array.reshape(-1) for name, array in facts.items()},
            tuple(to_texts(arrays[classes])) if classes else (),
        )
    except DataError as error:
        raise error.located(file=file) from None


def _lengths_of(arrays: Mapping[str, Array]) -> dict[str, tuple[str, ...]]:
    """For every modality, the name of its lengths, if it has any."""
    shared = _named(arrays, SHARED_LENGTHS)
    found: dict[str, tuple[str, ...]] = {}
    for name, array in arrays.items():
        if array.ndim not in (2, 3) or array.dtype.kind not in "fiu":
            continue
        own = next((name + suffix for suffix in LENGTHS if name + suffix in arrays), shared)
        if own is not None:
            found[name] = (own,)
        elif array.ndim == 3:
            found[name] = ()
    if not found:
        raise DataError(
            f"no modality among the arrays {', '.join(list(arrays)[:8]) or '(none)'}",
            fix="Give each modality X as [steps, dim] with X_len, or as [clips, time, dim].",
        )
    return found


def _only(arrays: Mapping[str, Array], names: tuple[str, ...]) -> Array | None:
    return arrays[names[0]] if names else None


def _column(name: str, array: Array, lengths: Array | None) -> Column:
    """The clips of one modality; a clip of length 0 lacks it."""
    if lengths is None:
        stops = np.full(len(array), array.shape[1], dtype=np.int64)
    elif lengths.ndim == 1 and lengths.dtype.kind in "iu":
        stops = lengths.astype(np.int64)
    else:
        raise DataError("lengths must be integers, one a clip", modality=name)
    longest = array.shape[1] if array.ndim == 3 else len(array)
    if len(stops) and not (stops.min() >= 0 and stops.max() <= longest):
        raise DataError(f"a length is outside 0..{longest}", modality=name)
    if array.ndim == 3:
        if len(stops) != len(array):
            raise DataError(f"{len(array)} clips but {len(stops)} lengths", modality=name)
        return Column(len(stops), lambda i: _steps(array[i, : stops[i]]))
    if stops.sum() != len(array):
        raise DataError(f"{len(array)} steps, but lengths add to {stops.sum()}", modality=name)
    ends = np.cumsum(stops)
    return Column(len(stops), lambda i: _steps(array[ends[i] - stops[i] : ends[i]]))


def _steps(array: Array) -> Steps | None:
    return to_float32(array) if len(array) else None


def _common_count(features: Mapping[str, Sequence[Steps | None]]) -> int:
    counts = {name: len(column) for name, column in features.items()}
    if len(set(counts.values())) != 1:
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise DataError(f"different numbers of clips: {told}")
    return next(iter(counts.values()))


def _named(arrays: Mapping[str, Array], names: Sequence[str]) -> str | None:
    return next((name for name in arrays if name.lower() in names), None)


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
    if key is None:
        return Regression()
    columns = [content.facts[key] for content in contents if key in content.facts]
    classes = next((content.classes for content in contents if content.classes), ())
    if columns[0].dtype.kind in "US":
        return infer_task([text for column in columns for text in to_texts(column)], classes)
    return infer_task(np.concatenate(columns), classes)


def _to_split(content: Contents, key: str | None, task: Task, name: str) -> Split:
    ids = _ids(content, name)
    values = None if key is None else content.facts.get(key)
    if values is None:
        labels = None
    else:
        is_text = values.dtype.kind in "US"
        labels = encode_labels(to_texts(values) if is_text else values, task, ids)
    return Split(ids=ids, labels=labels, sequences=content.features)


def _ids(content: Contents, split: str) -> tuple[str, ...]:
    """Stored ids; else the facts about each clip, if they tell it from all others; else numbers."""
    stored = _named(content.facts, IDS)
    if stored:
        column = content.facts[stored]
        return tuple(to_texts(column) if column.dtype.kind in "US" else map(str, column.tolist()))
    hidden = (*SPLITS, *LABELS)
    facts = {
        n: c for n, c in content.facts.items() if n.lower() not in hidden and c.dtype.kind in "iuUS"
    }
    rows = zip(
        *(to_texts(c) if c.dtype.kind in "US" else c.tolist() for c in facts.values()), strict=True
    )
    ids = ["-".join(f"{n}{value}" for n, value in zip(facts, row, strict=True)) for row in rows]
    if ids and len(set(ids)) == len(ids):
        return tuple(ids)
    return tuple(f"{split or 'clip'}-{number:05d}" for number in range(content.clips))


def _by_split(whole: Split, content: Contents) -> dict[str, Split]:
    """Splits by the array `split`, or by the file's name; else all clips are in train."""
    key = _named(content.facts, SPLITS)
    if key is None:
        return {split_of(content.file.stem) or "train": whole}
    names = [SPLIT_NAMES.get(name.lower()) for name in to_texts(content.facts[key])]
    if None in names:
        wrong = to_texts(content.facts[key])[names.index(None)]
        raise DataError(
            f"unknown split {wrong[:40]!r}",
            file=content.file,
            clip=whole.ids[names.index(None)],
            fix="Expected train, valid or test.",
        )
    rows = {n: [i for i, s in enumerate(names) if s == n] for n in ("train", "valid", "test")}
    return {name: whole.select(indices) for name, indices in rows.items() if indices}
