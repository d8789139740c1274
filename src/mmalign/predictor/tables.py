"""Answers of a network in words and columns. No torch."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float

from mmalign.data.arrow import table_of
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels, Task
from mmalign.evaluation.predictions import prediction_columns, presence_columns


class Answers(NamedTuple):
    """What a network says of the clips of a split.

    Attributes:
        split: The clips as it sees them.
        labels: Numbers, or indices of classes.
        shares: Probabilities of the classes, if there are any.
    """

    split: Split
    labels: Labels
    shares: Float[np.ndarray, "clips classes"] | None


def in_terms_of(
    task: Task, outputs: Float[np.ndarray, "clips outputs"], mean: float, scale: float
) -> Labels:
    """Outputs in the terms of a task: the class that is largest, or a number that was scaled."""
    if isinstance(task, Classification):
        chosen: Labels = outputs.argmax(axis=-1)
        return chosen
    values: Labels = outputs[:, 0] * np.float32(scale) + np.float32(mean)
    return values.astype(np.float32, copy=False)


def answer_table(
    task: Task,
    answers: Mapping[str, Answers],
    *,
    modalities: Sequence[str],
    victim: str | None,
    present: Mapping[str, Bool[np.ndarray, " _"]] | None = None,
) -> pa.Table:
    """Split, id, prediction, label where known, and what was there: one row a clip.

    Args:
        task: What was predicted.
        answers: By the names of splits.
        modalities: What the network reads.
        victim: The victim of the paper's pair; then there is `has_<victim>` alone.
        present: Which clips of a pair had their victim before the method looked at them.
    """
    tables = []
    for name, (split, labels, shares) in answers.items():
        columns: dict[str, Any] = {"split": [name] * len(split)}
        columns |= prediction_columns(task, split, labels, shares)
        if victim is None:
            columns |= presence_columns(modalities, split)
        else:
            has = split.is_present(victim) if present is None else present[name]
            columns[f"has_{victim}"] = has.tolist()
        tables.append(table_of(columns))
    return pa.concat_tables(tables, promote_options="default")
