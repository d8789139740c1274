"""What a predictor scores that knows nothing but the training labels."""

import numpy as np

from mmalign.data.task import Classification, Labels, Task
from mmalign.evaluation.metrics import classification_metrics, regression_metrics


def score(task: Task, predictions: Labels, labels: Labels) -> dict[str, float]:
    """The task's metrics of predictions (numbers, or indices of classes)."""
    if isinstance(task, Classification):
        return classification_metrics(predictions, labels, task.classes)
    return regression_metrics(predictions, labels)


def constant_floor(task: Task, train_labels: Labels, labels: Labels) -> dict[str, float]:
    """Metrics of always saying the training majority class, or the training mean.

    >>> import numpy as np
    >>> task = Classification(("a", "b"))
    >>> constant_floor(task, np.array([1, 1, 0]), np.array([1, 0]))["accuracy"]
    0.5
    """
    if isinstance(task, Classification):
        constant = np.bincount(train_labels, minlength=len(task.classes)).argmax()
    else:
        constant = train_labels.mean()
    return score(task, np.full_like(labels, constant), labels)
