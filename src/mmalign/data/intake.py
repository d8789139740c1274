"""Clips as users hand them over, as a split whose labels are in the terms of one task."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Shaped

from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.labels import encode_labels, suggested_task, task_of_column
from mmalign.data.names import check_names
from mmalign.data.split import UNFIT, Split
from mmalign.data.task import Classification, Label, Labels, Regression, Task
from mmalign.errors import DataError
from mmalign.spelling import nearest

if TYPE_CHECKING:
    PlainClip = Mapping[str, Any]
    Clips = Split | Clip | PlainClip | Iterable[Clip | PlainClip]
else:
    # Anything may be handed over; what is no clip is refused here, in words that help.
    Clips = object


FACTS = ("id", "label", "group", "observed")
"""Keys of a clip that is a dict which are no modalities."""


def labelled(clips: Clips, modalities: Sequence[str], task: Task) -> Split:
    """The clips with labels in the terms of a task.

    Classes are told apart by name where the clips know their names.

    Raises:
        DataError: If these are no clips, or a clip has no label, or one that is not the task's.
    """
    rows = gathered(clips)
    given = written(rows)
    own_task = rows.task if isinstance(rows, Split) else None
    if own_task is not None and type(own_task) is not type(task):
        raise DataError(
            f"the labels are {_kind(own_task)}, those of the model are {_kind(task)}",
            fix="Give clips that are labelled for the same task.",
        )
    if isinstance(own_task, Regression):
        # Another corpus may have another range: its own is the one that its labels must keep.
        labels: Labels = encode_labels(_ids(rows), given, own_task)
    else:
        labels = encode_labels(_ids(rows), given, task)
    return unlabelled(rows, modalities, task).with_known_features(labels=labels)


def relabelled(clips: Clips, y: object) -> Split:
    """The clips with the labels in `y`, one a clip, and the task that these suggest.

    Raises:
        DataError: If these are no clips, or `y` does not hold a label for each of them.

    >>> relabelled([{"wrist": np.zeros((2, 3))}, {"wrist": np.ones((4, 3))}], [1, -1]).task.classes
    ('-1', '1')
    """
    rows = gathered(clips)
    ids, labels = _ids(rows), labels_in(y, rows)
    numbers = np.array(labels) if {type(label) for label in labels} == {int} else None
    if numbers is not None and numbers.dtype == np.int64:  # of another type if one is too large
        task = task_of_column(numbers)
        encoded = encode_labels(ids, numbers, task)
    else:
        task = suggested_task([label for label in labels if label is not None])
        encoded = encode_labels(ids, labels, task)
    return unlabelled(rows, modalities_in(rows), task).with_known_features(labels=encoded)


def labels_in(y: object, rows: Split | list[Clip]) -> list[Label | None]:
    """The labels in `y`, one for each of these clips, in Python's own types.

    Raises:
        DataError: If it holds something else.
    """
    is_scalar = getattr(y, "ndim", 1) == 0
    if isinstance(y, Dataset | Split) or not isinstance(y, Iterable) or is_scalar:
        raise _no_labels(y)
    ids, given = _ids(rows), list(y)
    if any(isinstance(label, Clip | Mapping) for label in given):
        raise _no_labels(given[0])
    if len(given) != len(ids):
        raise DataError(f"{len(given)} labels for {len(ids)} clips", fix="Give one label per clip.")
    return [_plain(label, clip_id) for label, clip_id in zip(given, ids, strict=True)]


def labelled_by(clips: Clips, y: object, modalities: Sequence[str], task: Task) -> Split:
    """The clips with the labels in `y`, in the terms of a task.

    Raises:
        DataError: If these are no clips, or `y` does not hold a label of the task for each.
    """
    rows = gathered(clips)
    labels = encode_labels(_ids(rows), task.named(labels_in(y, rows)), task)
    return unlabelled(rows, modalities, task).with_known_features(labels=labels)


def modalities_in(rows: Split | list[Clip]) -> list[str]:
    """Names of the modalities that clips have."""
    if isinstance(rows, Split):
        return list(rows.sequences)
    return list(dict.fromkeys(name for clip in rows for name in clip.sequences))


def taught(clips: Clips, modalities: Sequence[str], task: Task) -> Split:
    """Clips to learn from: as `labelled`, and no two of one id.

    Raises:
        DataError: If an id appears twice, a modality has no name to show, or as `labelled`.
    """
    check_names("modality", modalities)
    split = labelled(clips, modalities, task)
    seen: set[str] = set()
    for clip_id in split.ids:
        if clip_id in seen:
            raise DataError(
                "the id appears twice", clip=clip_id, fix="Give each clip an id of its own."
            )
        seen.add(clip_id)
    return split


def with_labels_that_fit(clips: Clips, modalities: Sequence[str], task: Task) -> Split:
    """The clips with labels in the terms of a task; without any where one does not fit.

    Whose clips they are matters to training only: groups of single clips are left out.

    Raises:
        DataError: If these are no clips.
    """
    rows = gathered(clips)
    if not isinstance(rows, Split):
        rows = [clip if clip.group is None else replace(clip, group=None) for clip in rows]
    try:
        return labelled(rows, modalities, task)
    except DataError:
        return unlabelled(rows, modalities, task)


def features_of(clips: Clips, modalities: Sequence[str], task: Task) -> Split:
    """The clips as a prediction looks at them: their features, and no label or group.

    Raises:
        DataError: If these are no clips.
    """
    rows = gathered(clips)
    if isinstance(rows, Split):
        return rows.with_known_features(labels=None, task=task)
    return Split.features_of(rows, modalities, task)


def gathered(clips: Clips) -> Split | list[Clip]:
    """A split as it is; one clip, or whatever yields clips, as a list.

    A clip may be a plain dict from modalities to arrays; `id`, `label`, `group` and `observed` in
    it mean what they mean in `Clip`. Without an id, its position becomes one.

    Raises:
        DataError: If these are no clips, or a dict has no modality at all.

    >>> gathered({"wrist": np.zeros((2, 3)), "pose": None, "label": "run"})[0].label
    'run'
    """
    if isinstance(clips, Split):
        return clips
    if isinstance(clips, Clip | Mapping):
        return [_one(clips, 0)]
    if isinstance(clips, Dataset):
        some = next(iter(clips.splits))
        raise DataError(
            "expected the clips of one split, got a dataset", fix=f"Give one, e.g. data[{some!r}]."
        )
    if hasattr(clips, "columns"):  # pandas' table, which would yield the names of its columns
        raise DataError(
            f"expected clips, got a {type(clips).__name__}",
            fix="Make clips of it with mmalign.data.clips_from_frames.",
        )
    if not isinstance(clips, Iterable):
        raise _no_clip(clips)
    return [_one(clip, position) for position, clip in enumerate(clips)]


def _one(given: object, position: int) -> Clip:
    if isinstance(given, Mapping):
        return _from_dict(given, f"clip{position}")
    if not isinstance(given, Clip):
        raise _no_clip(given, f" at position {position}")
    return given


def _from_dict(given: Mapping[str, Any], clip_id: str) -> Clip:
    clip_id = str(given.get("id", clip_id))
    group, observed = given.get("group"), given.get("observed") or {}
    if not isinstance(observed, Mapping):
        raise DataError(
            f"observed is {type(observed).__name__}, no dict",
            clip=clip_id,
            fix="Give {modality: one True or False a step}.",
        )
    sequences = {
        str(name): _array(value, clip_id, str(name))
        for name, value in given.items()
        if name not in FACTS
    }
    for name, steps in sequences.items():
        _refuse_misspelt(name, steps, given, clip_id)
    if all(steps is None for steps in sequences.values()):
        raise DataError(
            "every modality is missing",
            clip=clip_id,
            fix="Leave the clip out: it needs one modality at least.",
        )
    return Clip(
        id=clip_id,
        label=_plain(given.get("label"), clip_id),
        sequences=sequences,
        observed={
            name: flags
            for name, given in observed.items()
            if (flags := _array(given, clip_id, str(name))) is not None
        },
        group=None if group is None else str(group),
    )


def _refuse_misspelt(
    name: str, steps: Shaped[np.ndarray, "..."] | None, given: Mapping[str, Any], clip_id: str
) -> None:
    """Check that a key that looks like a fact about the clip is a modality.

    Raises:
        DataError: If it is another name of a fact that is not there, and no table of numbers.
    """
    if steps is None or steps.ndim == 2:
        return
    meant = nearest(name, [fact for fact in FACTS if fact not in given])
    if meant is not None:
        raise DataError(
            f"there is no key {name!r} of a clip",
            clip=clip_id,
            fix=f"Did you mean {meant!r}? Other keys are modalities, arrays [time, dim].",
        )


def _array(value: Any, clip_id: str, modality: str) -> Shaped[np.ndarray, "..."] | None:
    try:
        return None if value is None else np.asanyarray(value)  # masks of arrays stay
    except UNFIT as error:
        raise DataError(
            f"not numbers ({error})",
            clip=clip_id,
            modality=modality,
            fix="A sequence is an array of numbers [time, dim]; None stands for a missing one.",
        ) from error


def task_of(clips: Split | list[Clip]) -> Task:
    """The task of labelled clips: the one they know of, or the one their labels suggest.

    Raises:
        DataError: If there are no labels, or they suggest nothing.
    """
    if isinstance(clips, Split) and clips.task is not None:
        return clips.task
    return suggested_task([label for label in written(clips) if label is not None])


def written(rows: Split | list[Clip]) -> list[Label | None]:
    """Labels as people write them: names of classes where they are known, numbers elsewhere.

    Raises:
        DataError: If there are none.
    """
    given = rows.labels if isinstance(rows, Split) else [clip.label for clip in rows]
    ids = _ids(rows)
    labels = [] if given is None else [_plain(*pair) for pair in zip(given, ids, strict=True)]
    if not ids:
        raise DataError("there are no clips", fix="Give at least two, with labels.")
    if all(label is None for label in labels):
        raise DataError(
            "there are no labels",
            fix="Give each clip one ('label' in a dict), or give them beside the clips.",
        )
    if not isinstance(rows, Split) or not isinstance(rows.task, Classification):
        return labels
    return [rows.task.classes[index] for index in encode_labels(ids, labels, rows.task)]


def _plain(label: object, clip_id: str) -> Label | None:
    """The label in Python's own types, whatever width numpy gave it; None for pandas' NaN."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, float) and np.isnan(value):
        return None
    if value is not None and not isinstance(value, int | float | str):
        raise DataError(
            f"the label is neither a name nor a number but {type(value).__name__}",
            clip=clip_id,
            fix="Give each clip one label.",
        )
    return value


def _ids(rows: Split | list[Clip]) -> list[str]:
    return list(rows.ids) if isinstance(rows, Split) else [clip.id for clip in rows]


def unlabelled(rows: Split | list[Clip], modalities: Sequence[str], task: Task) -> Split:
    """The clips of a task without their labels."""
    if isinstance(rows, Split):
        return rows.with_known_features(labels=None, task=task)
    return Split.from_clips([replace(clip, label=None) for clip in rows], modalities, task)


def _no_clip(given: object, where: str = "") -> DataError:
    return DataError(
        f"expected clips, got {type(given).__name__}{where}",
        fix="A clip is mmalign.data.Clip(id, label, {modality: array [time, dim]}), or a dict "
        "{modality: array, 'label': …}. Labels are in the clips, fit(clips), or beside them, "
        "fit(clips, labels).",
    )


def _no_labels(given: object) -> DataError:
    return DataError(
        f"y must hold labels, not {type(given).__name__}",
        fix="Give one label per clip; pass validation clips as valid=….",
    )


def _kind(task: Task) -> str:
    return "classes" if isinstance(task, Classification) else "numbers"
