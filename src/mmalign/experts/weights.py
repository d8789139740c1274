"""How much each expert counts in the sum, fitted to what they say of clips that were left out."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float64, Int64

from mmalign.data.task import Labels

Held = Float64[np.ndarray, "experts clips outputs"]
"""What each expert says of training clips when they are left out; NaN where a clip lacks it."""

Weights = Float64[np.ndarray, " experts"]

START, MOST = 4.0, 50.0
"""Where the search for a weight begins, and where it ends."""

LEAST = 0.1
"""Experts of classes count at least so much, all together: the likeliest class, hardly sure."""

NATS = 1.0
"""An expert of classes must make the labels of clips left out e times as likely, or more (AIC)."""

CLEAR = 2.0
"""One of numbers must help by so many standard errors of the mean over clips."""

FIRM = 100.0
"""So many nats must speak against an expert to take away all of the weight that trust gives it."""


def fit_weights(held: Held, labels: Labels, trust: Weights) -> Weights:
    """Weights with which the sum answers well, and is as sure as it should be.

    Args:
        held: What experts say of clips that were left out; a clip counts with those that it has.
        labels: Of the clips.
        trust: How far to trust each expert beside the others.

    Returns:
        0 for an expert that does not help beside the others. For classes, the others are weighted
        by trust, all by one factor that makes the labels most likely, and from there as far towards
        the likeliest weights as the clips insist. For numbers, which come as deviations from the
        mean label, they are weighted by trust and least squares.
    """
    if held.shape[2] == 1:
        return np.asarray(helpful(held, labels) * trust)
    if np.isnan(held[:, :, 0]).all():
        return np.asarray(START * trust)
    kept = helpful(held, labels) > 0
    trusted = np.where(kept, trust, 0.0) if kept.any() else trust
    total = np.nansum(trusted[:, None, None] * held, axis=0, keepdims=True)
    factor = float(_best_weights(total, labels)[0])
    return LEAST * trusted if factor < LEAST else _insisted(held, labels, factor * trusted)


def helpful(held: Held, labels: Labels) -> Weights:
    """The best weights, never negative, of the experts that help; 0 for the others."""
    if np.isnan(held[:, :, 0]).all():
        return np.full(len(held), START)  # no clip can tell
    kept = list(range(len(held)))
    weights = _best_weights(held, labels)
    while len(kept) > 1:
        without = [_without(held, labels, kept, expert) for expert in kept]
        gains = [_gain(held, labels, fewer, weights) for fewer in without]
        least = int(np.argmin(gains))
        if gains[least] >= 1:
            break
        weights = without[least]
        del kept[least]
    return weights


def shown_by_others(
    labels: Int64[np.ndarray, " clips"], groups: Int64[np.ndarray, " clips"] | None
) -> Bool[np.ndarray, " clips"]:
    """Whether clips of other groups (without groups, other clips) have the same class.

    No expert can name a class of clips left out that no other clip has shown it.

    >>> shown_by_others(np.array([0, 0, 1, 1]), np.array([7, 8, 8, 8])).tolist()
    [True, True, False, False]
    """
    groups = np.arange(len(labels)) if groups is None else groups
    pairs = np.unique(np.stack([labels, groups]), axis=1)
    return np.asarray(np.bincount(pairs[0])[labels] > 1)


def surprise(held: Held, labels: Labels, weights: Weights) -> float:
    """Mean cross-entropy of the weighted sum, or its mean squared error, on clips left out."""
    return float(_losses(held, labels, weights).mean())


def trust_by_clips(counts: Sequence[int]) -> Weights:
    """Less trust in experts that few clips have taught, from their numbers of clips.

    >>> trust_by_clips([100, 25]).tolist()
    [1.0, 0.5]
    """
    return np.sqrt(np.asarray(counts) / max(counts))


def _without(held: Held, labels: Labels, kept: Sequence[int], expert: int) -> Weights:
    """The best weights of all that are kept but one."""
    others = [other for other in kept if other != expert]
    weights = np.zeros(len(held))
    weights[others] = _best_weights(held[others], labels)
    return weights


def _gain(held: Held, labels: Labels, fewer: Weights, weights: Weights) -> float:
    """How much better `weights` answer than `fewer`; 1 is just enough."""
    better = _losses(held, labels, fewer) - _losses(held, labels, weights)
    if held.shape[2] > 1:
        return float(better.sum()) / NATS
    error = float(better.std()) / len(better) ** 0.5
    return float(better.mean()) / (CLEAR * error) if error else 0.0


def _insisted(held: Held, labels: Labels, trusted: Weights) -> Weights:
    """The likeliest weights, if each loses `FIRM` nats for the squared share that it changes by."""
    from scipy.optimize import minimize  # which predictions need not wait for

    kept = np.flatnonzero(trusted)
    rows = ~np.isnan(held[kept, :, 0]).all(axis=0)
    if len(kept) < 2 or not rows.any():
        return trusted
    scores = np.nan_to_num(held[kept][:, rows]) * trusted[kept, None, None]
    surprise, clips = _mean_cross_entropy(scores, labels[rows]), int(rows.sum())

    def loss(shares: Weights) -> tuple[float, Weights]:
        nats, slope = surprise(shares)
        change = shares - 1
        firm = FIRM * float(change @ change)
        return clips * nats + firm, clips * slope + 2 * FIRM * change

    bounds = [(0.0, None)] * len(kept)
    shares = minimize(loss, np.ones(len(kept)), jac=True, bounds=bounds, method="L-BFGS-B").x
    weights = trusted.copy()
    weights[kept] *= shares
    return weights


def _best_weights(held: Held, labels: Labels) -> Weights:
    from scipy.optimize import minimize, nnls  # half a second that predictions need not wait

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
