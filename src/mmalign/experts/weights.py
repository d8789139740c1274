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

CLEAR = 2.0
"""An expert must help by so many standard errors of the mean over clips."""


def fit_weights(held: Held, labels: Labels) -> Weights:
    """Weights, never negative, with which the sum answers best for clips that were left out.

    A clip counts with the experts that it has. Scores of classes are weighted for the largest
    likelihood, so that their sum is as sure as it should be; numbers, as deviations from the mean
    label, for the least squares. An expert that does not clearly help beside the others gets 0.
    """
    kept = list(range(len(held)))
    weights = _best_weights(held, labels)
    while len(kept) > 1:
        without = [_without(held, labels, kept, expert) for expert in kept]
        gains = [_gain(held, labels, fewer, weights) for fewer in without]
        least = int(np.argmin(gains))
        if gains[least] >= CLEAR:
            break
        weights = without[least]
        del kept[least]
    return weights


def surprise(held: Held, labels: Labels, weights: Weights) -> float:
    """Mean cross-entropy of the weighted sum, or its mean squared error, on clips left out."""
    return float(_losses(held, labels, weights).mean())


def trust(counts: Sequence[int]) -> Float[np.ndarray, " experts"]:
    """A factor for experts that few clips have taught, from their numbers of clips.

    Weights are fitted to the ridges. Few clips teach a network less than they teach a ridge.
    """
    return np.asarray((np.asarray(counts) / max(counts)) ** 0.25)


def _without(held: Held, labels: Labels, kept: Sequence[int], expert: int) -> Weights:
    """The best weights of all that are kept but one."""
    others = [other for other in kept if other != expert]
    weights = np.zeros(len(held))
    weights[others] = _best_weights(held[others], labels)
    return weights


def _gain(held: Held, labels: Labels, fewer: Weights, weights: Weights) -> float:
    """By how many standard errors `weights` answer better than `fewer`."""
    better = _losses(held, labels, fewer) - _losses(held, labels, weights)
    error = float(better.std()) / len(better) ** 0.5
    return float(better.mean()) / error if error else 0.0


def _best_weights(held: Held, labels: Labels) -> Weights:
    rows = ~np.isnan(held[:, :, 0]).all(axis=0)
    scores = np.nan_to_num(held[:, rows])
    if scores.shape[2] == 1:
        numbers = np.asarray(labels[rows], np.float64)
        found, _ = nnls(scores[:, :, 0].T, numbers - numbers.mean())
        return np.asarray(found)
    loss = _mean_cross_entropy(scores, labels[rows])
    start = np.full(len(scores), START)
    bounds = [(0.0, MOST)] * len(scores)
    return np.asarray(minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x)


def _losses(held: Held, labels: Labels, weights: Weights) -> Float64[np.ndarray, " clips"]:
    """Cross-entropy or squared error of each clip; one without any expert gets a constant."""
    total = np.tensordot(weights, np.nan_to_num(held), 1)
    if total.shape[1] == 1:
        numbers = np.asarray(labels, np.float64)
        return np.asarray((numbers - numbers.mean() - total[:, 0]) ** 2)
    total -= total.max(axis=1, keepdims=True)
    own = total[np.arange(len(labels)), labels]
    return np.asarray(np.log(np.exp(total).sum(axis=1)) - own)


def _mean_cross_entropy(
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
