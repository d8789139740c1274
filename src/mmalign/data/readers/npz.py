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
from mmalign.data.labels import LabelColumn, task_of_column
from mmalign.data.readers.drafts import Draft, assemble
from mmalign.data.readers.groups import group_column
from mmalign.data.readers.labels import choose_candidate, choose_name
from mmalign.data.readers.npz_contents import (
    FACTS,
    IDS,
    LABELS,
    SPLITS,
    Contents,
    named,
    read_contents,
)
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.values import to_texts
from mmalign.data.split_names import ALL_TRAIN, rows_by_split, split_of
from mmalign.data.task import Classification, Regression, Task
from mmalign.errors import DataError, located


def read_files(files: Mapping[str, Path] | Path, options: ReadOptions) -> Dataset:
    """Read one file with all splits, or one file per split.

    Raises:
        DataError: If the arrays do not fit together, or it is open which one is the label.
    """
    options.require_no_vectors()
    by_split = {"": files} if isinstance(files, Path) else files
    contents = {name: read_contents(file, options.label) for name, file in by_split.items()}
    first = next(iter(contents.values()))
    for content in contents.values():
        if content.dims != first.dims:
            raise DataError(
                f"modalities are {dict(content.dims)}, in {first.file.name} {dict(first.dims)}",
                file=content.file,
                fix="All files share their modalities and dims.",
            )
    with located(file=first.file):
        key = _label_key(first, options.label)
    drafts: dict[str, Draft] = {}
    for name, content in contents.items():
        drafts |= {name: _draft(content, key, name)} if name else _by_split(content, key)
    notes = [
        f"label: took {key!r}; --label chooses another" if key and key not in LABELS else "",
        f"not used, as they fit no clip: {', '.join(sorted(first.unused))}" if first.unused else "",
        ALL_TRAIN if list(drafts) == ["train"] and _is_undivided(first, contents) else "",
    ]
    with located(file=first.file):
        return assemble(drafts, first.dims, _task(list(contents.values()), key), notes)


def _is_undivided(content: Contents, files: Mapping[str, Contents]) -> bool:
    """Whether neither the file's contents nor its place tell splits."""
    return "" in files and named(content.facts, SPLITS) is None


def _label_key(content: Contents, wanted: str | None) -> str | None:
    """The user's choice; a usual name; or the only array that could be one."""
    known = (*IDS, *SPLITS)
    names = [name for name in content.facts if name.lower() not in known]
    if wanted is not None:
        return choose_name(names, wanted)
    usual = next((name for name in names if name.lower() in LABELS), None)
    if usual is not None:
        return usual
    return choose_candidate([n for n in names if n.lower().rstrip("s") not in FACTS])


def _task(contents: Sequence[Contents], key: str | None) -> Task:
    classes = next((content.classes for content in contents if content.classes), ())
    if key is None or classes:
        return Regression() if key is None else Classification(classes)
    columns = [content.facts[key] for content in contents if key in content.facts]
    return task_of_column(_plain(np.concatenate(columns)))


def _plain(values: Array) -> LabelColumn:
    """Texts or numbers of an array with one entry a clip."""
    return to_texts(values) if values.dtype.kind in "US" else values


def _draft(content: Contents, key: str | None, name: str) -> Draft:
    values = None if key is None else content.facts.get(key)
    labels = None if values is None else _plain(values)
    ids, groups = _ids(content, name), _groups(content, key)
    return Draft(ids, labels, content.features, file=content.file, groups=groups)


def _groups(content: Contents, label: str | None) -> list[str] | None:
    """Texts as they are; numbers with what they count, as in ids."""
    name = group_column(fact for fact in content.facts if fact != label)
    if name is None:
        return None
    values = content.facts[name]
    return [value if isinstance(value, str) else f"{name}{value}" for value in _plain(values)]


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


def _by_split(content: Contents, key: str | None) -> dict[str, Draft]:
    """Splits by the array `split`, or by the file's name; else all clips are in train."""
    whole = _draft(content, key, "")
    names = named(content.facts, SPLITS)
    if names is None:
        return {split_of(content.file.stem) or "train": whole}
    with located(file=content.file):
        rows = rows_by_split(to_texts(content.facts[names]), whole.ids)
    return {name: whole.select(chosen) for name, chosen in rows.items()}
