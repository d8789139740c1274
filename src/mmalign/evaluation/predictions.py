"""What a model says of clips: in the terms of the task, as a table, and whether it is anything."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float

from mmalign.data.arrow import table_of
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels, Task
from mmalign.errors import DataError


class NonFiniteOutputError(DataError):
    """A clip for which the model has no answer: its output is NaN or infinite."""


def check_finite(outputs: Float[np.ndarray, "clips ..."], ids: Sequence[str]) -> None:
    """Refuse what argmax would take for the first class, and a picture for nothing at all.

    Raises:
        NonFiniteOutputError: If what the model says of a clip is NaN or infinite.
    """
    is_finite = np.isfinite(outputs).all(axis=tuple(range(1, outputs.ndim)))
    if not is_finite.all():
        raise NonFiniteOutputError(
            "the model's output is not finite",
            clip=ids[int(is_finite.argmin())],
            fix="Look for extreme feature values; scale them as in training, or leave it out.",
        )


class Answers(NamedTuple):
    """What a model says of the clips of a split.

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
        modalities: What the model reads.
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


def prediction_columns(
    task: Task,
    split: Split,
    predictions: Labels,
    shares: Float[np.ndarray, "clips classes"] | None,
) -> dict[str, Any]:
    """Id, prediction, label where it is known, and each class's probability: one row a clip."""
    columns: dict[str, Any] = {"id": list(split.ids)}
    if not isinstance(task, Classification):
        columns["prediction"] = predictions.tolist()
        if split.labels is not None:
            columns["label"] = split.labels.tolist()
        return columns
    columns["prediction"] = [task.classes[index] for index in predictions]
    if split.labels is not None:
        columns["label"] = [task.classes[index] for index in split.labels]
    if shares is not None:
        named = enumerate(task.classes)
        columns |= {f"probability/{name}": shares[:, k].tolist() for k, name in named}
    return columns


def presence_columns(modalities: Sequence[str], split: Split) -> dict[str, list[bool] | list[str]]:
    """Which of a model's modalities each clip has: `used` names them, `has_<modality>` says it."""
    has = {name: split.has_any([name]) for name in modalities}
    used = ["+".join(name for name in has if has[name][row]) for row in range(len(split))]
    return {"used": used, **{f"has_{name}": there.tolist() for name, there in has.items()}}
