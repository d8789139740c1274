"""Make a dataset from clips, for the command line and for files."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.intake import Clips, gathered, labelled, modalities_in, unlabelled, written
from mmalign.data.labels import suggested_task
from mmalign.data.non_finite import Policy, apply_policy
from mmalign.data.split import Split
from mmalign.data.split_names import SPLITS
from mmalign.data.task import Task
from mmalign.data.validation import validate
from mmalign.errors import DataError, located


def dataset_from(clips: Clips | Mapping[str, Clips], *, non_finite: Policy = "reject") -> Dataset:
    """Make a dataset from labelled clips; `write_native` stores it, `split_by_group` splits it.

    Args:
        clips: Clips, which all go to `train`; or clips by split, `{"train": …, "test": …}`.
        non_finite: How to treat NaN and infinity: `reject`, `zero`, `clip` or `gap`.

    Raises:
        DataError: If a clip has no label, features differ in width, or a value is not finite.

    >>> import numpy as np
    >>> made = dataset_from([{"wrist": np.zeros((2, 3)), "label": x} for x in ("run", "walk")])
    >>> made.dims, list(made.splits)
    ({'wrist': 3}, ['train'])
    """
    is_of_splits = isinstance(clips, Mapping) and bool(clips) and set(clips) <= set(SPLITS)
    given: dict[str, Any] = dict(clips) if is_of_splits else {"train": clips}  # type: ignore[arg-type]
    dataset = built({name: given[name] for name in SPLITS if name in given})
    if all(split.labels is None for split in dataset.splits.values()):
        raise DataError("there are no labels", fix="Give each clip one.")
    return apply_policy(dataset, non_finite)


def built(parts: Mapping[str, Clips]) -> Dataset:
    """A dataset of splits as they are, labelled or not, NaN and infinity included.

    Raises:
        DataError: If only some clips have a label, or features differ in width.
    """
    rows = {name: gathered(part) for name, part in parts.items()}
    task = _task_of(list(rows.values()))
    names = list(dict.fromkeys(name for part in rows.values() for name in modalities_in(part)))
    splits = {}
    for name, part in rows.items():
        with located(split=name):
            give = labelled if _is_labelled(part) else unlabelled
            splits[name] = give(part, names, task)
    dims = {name: _width(name, splits) for name in names}
    return validate(Dataset(task, dims, splits))


def _task_of(parts: list[Split | list[Clip]]) -> Task:
    """The task that a part knows, or the one that all labels together suggest."""
    for part in parts:
        if isinstance(part, Split) and part.task is not None:
            return part.task
    labels = [label for part in parts if _is_labelled(part) for label in written(part)]
    return suggested_task([label for label in labels if label is not None])


def _is_labelled(part: Split | list[Clip]) -> bool:
    if isinstance(part, Split):
        return part.labels is not None
    return any(clip.label is not None for clip in part)


def _width(modality: str, splits: Mapping[str, Split]) -> int:
    """Features that most sequences of the modality have: the others are at fault if some differ."""
    columns = (split.sequences[modality] for split in splits.values())
    widths = Counter(steps.shape[1] for column in columns for steps in column if steps is not None)
    if not widths:
        raise DataError("no clip has the modality", modality=modality, fix="Leave it out.")
    return int(widths.most_common(1)[0][0])
