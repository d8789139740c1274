"""Splits as a file tells them, before their labels are in the terms of one task."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmalign.data.clip import StepsColumn, Times
from mmalign.data.columns import select_from
from mmalign.data.dataset import Dataset
from mmalign.data.labels import LabelColumn, encode_labels, pick
from mmalign.data.readers.groups import groups_in_ids
from mmalign.data.split import Split
from mmalign.data.task import Task
from mmalign.errors import located


@dataclass(frozen=True)
class Draft:
    """One split; `labels` are as people wrote them."""

    ids: Sequence[str]
    labels: LabelColumn | None
    sequences: Mapping[str, StepsColumn]
    words: Sequence[Sequence[str] | None] | None = None
    times: Sequence[Times | None] | None = None
    file: Path | None = None
    groups: Sequence[str] | None = None

    def select(self, rows: Sequence[int]) -> "Draft":
        """The clips at these rows, in this order; nothing is known of words and times."""
        return Draft(
            ids=[self.ids[row] for row in rows],
            labels=None if self.labels is None else pick(self.labels, rows),
            sequences={m: select_from(column, rows) for m, column in self.sequences.items()},
            file=self.file,
            groups=None if self.groups is None else [self.groups[row] for row in rows],
        )


def assemble(
    drafts: Mapping[str, Draft], dims: Mapping[str, int], task: Task, notes: Iterable[str] = ()
) -> Dataset:
    """The dataset of these splits, with the modalities that have a dim.

    Raises:
        DataError: If a label does not fit the task.
    """
    splits = {}
    for name, draft in drafts.items():
        with located(file=draft.file, split=name):
            splits[name] = Split(
                ids=tuple(draft.ids),
                labels=None
                if draft.labels is None
                else encode_labels(draft.ids, draft.labels, task),
                sequences={modality: draft.sequences[modality] for modality in dims},
                words=draft.words,
                times=draft.times,
                groups=groups_in_ids(draft.ids) if draft.groups is None else tuple(draft.groups),
            )
    return Dataset(task, dims, splits, tuple(note for note in notes if note))
