"""Clips of a dataset that the page offers to play with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmalign.data.clip import Steps
from mmalign.data.dataset import Dataset
from mmalign.data.likeness import require_modalities_of
from mmalign.data.split import Split
from mmalign.data.task import Classification
from mmalign.errors import DataError
from mmalign.serving.facts import Facts
from mmalign.serving.refusal import RefusalError

MOST = 200


@dataclass(frozen=True)
class Examples:
    """Some labelled clips; each is known by its position.

    Attributes:
        split: The clips.
        labels: What is true of each, as people read it; none where it is not known.
    """

    split: Split
    labels: Sequence[str | float | None]

    def __len__(self) -> int:
        return len(self.split)

    def listed(self) -> list[dict[str, Any]]:
        """Position, id and label of each clip."""
        named = zip(self.split.ids, self.labels, strict=True)
        return [{"index": n, "id": i, "label": label} for n, (i, label) in enumerate(named)]

    def clip(self, index: int) -> dict[str, Any]:
        """One clip with its sequences, gaps as nulls.

        Raises:
            RefusalError: If there is no such clip.
        """
        if not 0 <= index < len(self):
            raise RefusalError(404, "not_found", f"There are {len(self)} examples, from 0.")
        clip = self.split[index]
        found = {n: None if s is None else to_rows(s) for n, s in clip.sequences.items()}
        return {"id": clip.id, "label": self.labels[index], "sequences": found}


def examples_of(dataset: Dataset, facts: Facts) -> Examples:
    """Clips that were not trained on if there are any, spread over the split.

    Raises:
        DataError: If none of the model's modalities is in the data, or one has another width, or
            one that the model needs is not there.
    """
    require_modalities_of(dataset, facts.dims)
    names = [name for name in facts.dims if name in dataset.dims]
    if not set(facts.needs) <= set(names):
        wanted = ", ".join(f"{name} ({dim})" for name, dim in facts.dims.items())
        raise DataError(
            "these clips are not what the model reads", fix=f"Give a dataset with {wanted}."
        )
    part = next(name for name in ("test", "valid", *dataset.splits) if name in dataset.splits)
    split = dataset[part].only(names)
    there = np.flatnonzero(np.any([split.is_present(name) for name in names], axis=0))
    rows = there[np.linspace(0, len(there) - 1, min(MOST, len(there))).round().astype(int)]
    chosen = split.select(rows)
    return Examples(chosen, _labels(chosen, dataset))


def no_examples(facts: Facts) -> Examples:
    """An empty list, for a service without a dataset."""
    return Examples(Split((), None, {name: [] for name in facts.dims}), [])


def _labels(split: Split, dataset: Dataset) -> list[str | float | None]:
    if split.labels is None:
        return [None] * len(split)
    if isinstance(dataset.task, Classification):
        return [dataset.task.classes[index] for index in split.labels]
    return [float(label) for label in split.labels]


def to_rows(steps: Steps) -> list[list[float] | None]:
    """A sequence as lists, a null for every step that is missing."""
    gaps = np.isnan(steps[:, 0]).tolist()
    return [None if gap else row for gap, row in zip(gaps, steps.tolist(), strict=True)]
