"""Predictions as columns of a table, in words that people read."""

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
