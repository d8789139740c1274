"""Metrics over all samples at once: pure functions of predictions and labels."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int64


def regression_metrics(
    predictions: Float[np.ndarray, " clips"], labels: Float[np.ndarray, " clips"]
) -> dict[str, float]:
    """MAE, Pearson r, Acc-2, F1 and Acc-7 of real-valued predictions.

    `acc2` and the weighted `f1` leave out labels of exactly 0 and ask whether both are positive
    (the paper's convention); `acc2_with_zero` keeps them and counts 0 as positive. `acc7` rounds
    both to whole numbers in -3..3. A predictor that never varies has r = 0.

    >>> import numpy as np
    >>> regression_metrics(np.array([1.0, -2.0]), np.array([2.0, -2.0]))["mae"]
    0.5
    """
    predictions, labels = predictions.astype(np.float64), labels.astype(np.float64)
    is_signed = labels != 0
    said, true = predictions[is_signed] > 0, labels[is_signed] > 0
    sevens = np.clip(np.round(predictions), -3, 3) == np.clip(np.round(labels), -3, 3)
    return {
        "mae": float(np.abs(predictions - labels).mean()),
        "r": pearson(predictions, labels),
        "acc2": _share(said == true),
        "acc2_with_zero": _share((predictions >= 0) == (labels >= 0)),
        "f1": weighted_f1(said.astype(np.int64), true.astype(np.int64), classes=2),
        "acc7": _share(sevens),
    }


def classification_metrics(
    predictions: Int64[np.ndarray, " clips"],
    labels: Int64[np.ndarray, " clips"],
    class_names: Sequence[str],
) -> dict[str, float]:
    """Weighted F1 (the paper's), macro F1, accuracy, and the F1 of each class as `f1/<name>`.

    Macro F1 averages over the classes that occur in labels or predictions.
    """
    scores = f1_per_class(predictions, labels, classes=len(class_names))
    support = np.bincount(labels, minlength=len(class_names))
    occurs = (support + np.bincount(predictions, minlength=len(class_names))) > 0
    return {
        "weighted_f1": _weighted(scores, support),
        "macro_f1": float(scores[occurs].mean()),
        "accuracy": _share(predictions == labels),
    } | {f"f1/{name}": float(score) for name, score in zip(class_names, scores, strict=True)}


def pearson(first: Float[np.ndarray, " clips"], second: Float[np.ndarray, " clips"]) -> float:
    """Pearson's correlation; 0 where one of the two never varies."""
    first, second = first - first.mean(), second - second.mean()
    # Scaled to 1 first: squares of tiny deviations would underflow, of huge ones overflow.
    scale = np.abs(first).max(initial=0), np.abs(second).max(initial=0)
    if min(scale) == 0:
        return 0.0
    first, second = first / scale[0], second / scale[1]
    norm = np.sqrt((first @ first) * (second @ second))
    return float(np.clip(first @ second / norm, -1, 1))


def f1_per_class(
    predictions: Int64[np.ndarray, " clips"], labels: Int64[np.ndarray, " clips"], *, classes: int
) -> Float[np.ndarray, " classes"]:
    """F1 of each class; 0 for a class that is neither predicted nor there."""
    hits = np.bincount(labels[predictions == labels], minlength=classes)
    total = np.bincount(labels, minlength=classes) + np.bincount(predictions, minlength=classes)
    scores: Float[np.ndarray, " classes"] = 2 * hits / np.maximum(total, 1)
    return scores


def weighted_f1(
    predictions: Int64[np.ndarray, " clips"], labels: Int64[np.ndarray, " clips"], *, classes: int
) -> float:
    """F1 of each class, averaged with the number of its clips as weight."""
    support = np.bincount(labels, minlength=classes)
    return _weighted(f1_per_class(predictions, labels, classes=classes), support)


def _weighted(
    scores: Float[np.ndarray, " classes"], support: Int64[np.ndarray, " classes"]
) -> float:
    return float((scores * support).sum() / support.sum()) if support.sum() else float("nan")


def _share(is_right: Bool[np.ndarray, " clips"]) -> float:
    return float(is_right.mean()) if len(is_right) else float("nan")
