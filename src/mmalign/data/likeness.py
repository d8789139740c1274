"""Is a dataset of the kind that a model learned? What differs is told at once, not clip by clip."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from mmalign.data.dataset import Dataset
from mmalign.data.task import Classification, Task
from mmalign.errors import DataError
from mmalign.spelling import nearest

FEW = 8
"""Classes that a message names."""


def require_modalities_of(dataset: Dataset, dims: Mapping[str, int]) -> None:
    """Check that a dataset has a modality that a model reads, and each as wide as it reads it.

    Raises:
        DataError: If not; it tells all that differs.
    """
    _refuse("reads", _in_modalities(dataset, dims))


def require_kind_of(
    dataset: Dataset, splits: Sequence[str], dims: Mapping[str, int], task: Task
) -> None:
    """Check the same, and that the labels of some splits are what a model predicts.

    Raises:
        DataError: If not; it tells all that differs.
    """
    _refuse("learned", [*_in_modalities(dataset, dims), *_in_labels(dataset, splits, task)])


def _refuse(does: str, differences: Iterable[str]) -> None:
    told = "; ".join(differences)
    if told:
        raise DataError(
            f"these clips are not what the model {does}: {told}",
            fix="mmalign data inspect shows what the data has.",
        )


def _in_modalities(dataset: Dataset, dims: Mapping[str, int]) -> Iterator[str]:
    if not set(dims) & set(dataset.dims):
        meant = ((nearest(name, dims), name) for name in dataset.dims)
        near = "".join(f" (is {name} {known}?)" for known, name in meant if known is not None)
        yield f"it has {_listed(dataset.dims)}, the model reads {_listed(dims)}{near}"
    for name, dim in dims.items():
        found = dataset.dims.get(name, dim)
        if found != dim:
            yield f"{name} has {found} features, the model reads {dim}"


def _in_labels(dataset: Dataset, splits: Sequence[str], task: Task) -> Iterator[str]:
    known = [labels for name in splits if (labels := dataset[name].labels) is not None]
    if not known:
        return
    own = dataset.task
    if type(own) is not type(task):
        yield f"its labels are {own.in_words()}, the model predicts {task.in_words()}"
    elif isinstance(own, Classification) and isinstance(task, Classification):
        names = [own.classes[index] for index in np.unique(np.concatenate(known))]
        strange = [name for name in names if name not in task.classes]
        if strange:
            more = ", …" if len(strange) > FEW else ""
            told = ", ".join(strange[:FEW]) + more
            yield f"its labels {told} are unknown to the model, which predicts {task.in_words()}"


def _listed(dims: Mapping[str, int]) -> str:
    return ", ".join(f"{name} [{dim}]" for name, dim in dims.items())
