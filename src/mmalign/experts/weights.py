"""How much each expert counts in the sum, fitted to what they say of clips that were left out."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Float64
from scipy.optimize import minimize, nnls

from mmalign.data.task import Labels

Held = Float64[np.ndarray, "experts clips outputs"]
"""What each expert says of training clips when they are left out; NaN where a clip lacks it."""

Weights = Float64[np.ndarray, " experts"]

START, MOST = 4.0, 50.0


def fit_weights(held: Held, labels: Labels) -> Weights:
    """Weights, never negative, with which the sum answers best for clips that were left out.

    A clip counts with the experts that it has. Scores of classes are weighted for the largest
    likelihood, so that their sum is as sure as it should be; numbers, as deviations from the mean
    label, for the least squares. An expert that tells nothing gets 0.
    """
    rows = ~np.isnan(held[:, :, 0]).all(axis=0)
    scores = np.nan_to_num(held[:, rows])
    if scores.shape[2] == 1:
        numbers = np.asarray(labels[rows], np.float64)
        found, _ = nnls(scores[:, :, 0].T, numbers - numbers.mean())
        return np.asarray(found)
    loss = _surprise(scores, labels[rows])
    start = np.full(len(scores), START)
    bounds = [(0.0, MOST)] * len(scores)
    return np.asarray(minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x)


def surprise(held: Held, labels: Labels, weights: Weights) -> float:
    """Mean cross-entropy of the weighted sum, or its mean squared error, on clips left out."""
    rows = ~np.isnan(held[:, :, 0]).all(axis=0)
    scores = np.nan_to_num(held[:, rows])
    if scores.shape[2] == 1:
        numbers = np.asarray(labels[rows], np.float64)
        wrong = numbers - numbers.mean() - np.tensordot(weights, scores[:, :, 0], 1)
        return float(np.mean(wrong**2))
    return _surprise(scores, labels[rows])(weights)[0]


def _surprise(
    scores: Float64[np.ndarray, "experts clips classes"], labels: Labels
) -> Callable[[Weights], tuple[float, Weights]]:
    """From weights to the mean cross-entropy, and its slope."""
    each = np.arange(len(labels))
    own = scores[:, each, labels].mean(axis=1)

    def loss(weights: Weights) -> tuple[float, Weights]:
        total = np.tensordot(weights, scores, 1)
        total -= total.max(axis=1, keepdims=True)
        shares = np.exp(total)
        norms = shares.sum(axis=1, keepdims=True)
        surprise = np.log(norms[:, 0]) - total[each, labels]
        expected = np.einsum("kc,ekc->e", shares / norms, scores) / len(labels)
        return float(surprise.mean()), expected - own

    return loss


def trust(counts: Sequence[int]) -> Float[np.ndarray, " experts"]:
    """A factor for experts that few clips have taught, from their numbers of clips.

    Weights are fitted to the ridges. Few clips teach a network less than they teach a ridge.
    """
    return np.asarray((np.asarray(counts) / max(counts)) ** 0.25)
