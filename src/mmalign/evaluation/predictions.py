"""Predictions as columns of a table, in words that people read."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels, Task


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
