"""How much each expert counts in the sum, fitted to what they say of clips that were left out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Int64

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

FIRM = 300.0
"""So many nats must speak against an expert to take away all of the weight that trust gives it."""

LOUD = 3.0
"""So many nats must speak for e times the usual loudness of an expert: a few clips never do."""

ENOUGH = 20
"""Clips that have all modalities of a subset and suffice to weigh experts of numbers."""


@dataclass(frozen=True)
class Hearing:
    """What experts said of clips that were left out, and what is true of these.

    Attributes:
        held: What each said, beside what it says of a clip that it knows nothing of.
        labels: Indices of classes, or numbers as deviations from the mean label.
        prior: What is said of a clip without any expert: logarithms of the classes' shares, or 0.
    """

    held: Held
    labels: Int64[np.ndarray, " clips"] | Float64[np.ndarray, " clips"]
    prior: Float64[np.ndarray, " outputs"]

    @property
    def is_of_numbers(self) -> bool:
        """Whether labels are numbers."""
        return len(self.prior) == 1

    @property
    def is_silent(self) -> bool:
        """Whether no expert said anything."""
        return bool(np.isnan(self.held[:, :, 0]).all())

    def of(self, experts: Sequence[int]) -> "Hearing":
        """What these experts said."""
        return replace(self, held=self.held[list(experts)])

    def times(self, weights: Weights) -> "Hearing":
        """The same, each expert louder by so much."""
        return replace(self, held=self.held * weights[:, None, None])

    def complete(self) -> "Hearing":
        """The clips of which all experts said something, if these are enough; or all clips."""
        rows = ~np.isnan(self.held[:, :, 0]).any(axis=0)
        if rows.sum() < ENOUGH:
            return self
        return replace(self, held=self.held[:, rows], labels=self.labels[rows])

    def losses(self, weights: Weights) -> Float64[np.ndarray, " clips"]:
        """Cross-entropy or squared error of the weighted sum for each clip."""
        total = self.prior + np.tensordot(weights, np.nan_to_num(self.held), 1)
        if self.is_of_numbers:
            return np.asarray((self.labels - total[:, 0]) ** 2)
        total -= total.max(axis=1, keepdims=True)
        own = total[np.arange(len(total)), self.labels.astype(np.int64)]
        return np.asarray(np.log(np.exp(total).sum(axis=1)) - own)


def fit_weights(hearing: Hearing, trust: Weights) -> Weights:
    """Weights with which the sum answers well, and is as sure as it should be.

    Args:
        hearing: What experts said; a clip counts with those that it has.
        trust: How far to trust each expert of classes beside the others.

    Returns:
        0 for an expert that does not help beside the others. For numbers, the others are weighted
        by least squares. For classes, each is made as loud as it would be alone and weighted by
        trust, then all get one factor that makes the labels most likely, and from there weights go
        as far towards the likeliest ones as the clips insist.
    """
    if hearing.is_of_numbers:
        return helpful(hearing.complete())
    if hearing.is_silent:
        return np.asarray(START * trust)
    kept = helpful(hearing) > 0
    trusted = trust * [_alone(hearing.of([expert])) for expert in range(len(trust))]
    trusted = np.where(kept, trusted, 0.0) if kept.any() else trusted
    total = np.nansum(hearing.times(trusted).held, axis=0, keepdims=True)
    loudest = float(trusted.max())
    factor = float(_best_weights(replace(hearing, held=total / loudest))[0])
    trusted = max(factor, LEAST) / loudest * trusted
    return trusted if factor < LEAST else _insisted(hearing, trusted)


def helpful(hearing: Hearing) -> Weights:
    """The best weights, never negative, of the experts that help; 0 for the others."""
    experts = len(hearing.held)
    if hearing.is_silent:
        return np.full(experts, START)  # no clip can tell
    kept = list(range(experts))
    weights = _best_weights(hearing)
    while len(kept) > 1:
        without = [_without(hearing, kept, expert) for expert in kept]
        gains = [_gain(hearing, fewer, weights) for fewer in without]
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


def surprise(hearing: Hearing, weights: Weights) -> float:
    """Mean cross-entropy of the weighted sum, or its mean squared error, on clips left out."""
    return float(hearing.losses(weights).mean())


def trust_by_clips(counts: Sequence[int]) -> Weights:
    """Less trust in experts that few clips have taught, from their numbers of clips.

    >>> trust_by_clips([100, 25]).tolist()
    [1.0, 0.5]
    """
    return np.sqrt(np.asarray(counts) / max(counts))


def _alone(hearing: Hearing) -> float:
    """The best weight of the one expert, near the usual one unless its clips say otherwise."""
    from scipy.optimize import minimize  # which predictions need not wait for

    if hearing.is_silent:
        return START
    surprise, clips = _mean_cross_entropy(hearing)

    def loss(louder: Weights) -> tuple[float, Weights]:
        weight = START * np.exp(louder)
        nats, slope = surprise(weight)
        unusual = LOUD * float(louder @ louder)
        return clips * nats + unusual, clips * slope * weight + 2 * LOUD * louder

    bounds = [(np.log(LEAST / START), np.log(MOST / START))]
    found = minimize(loss, np.zeros(1), jac=True, bounds=bounds, method="L-BFGS-B").x
    return float(START * np.exp(found[0]))


def _without(hearing: Hearing, kept: Sequence[int], expert: int) -> Weights:
    """The best weights of all that are kept but one."""
    others = [other for other in kept if other != expert]
    weights = np.zeros(len(hearing.held))
    weights[others] = _best_weights(hearing.of(others))
    return weights


def _gain(hearing: Hearing, fewer: Weights, weights: Weights) -> float:
    """How much better `weights` answer than `fewer`; 1 is just enough."""
    better = hearing.losses(fewer) - hearing.losses(weights)
    if not hearing.is_of_numbers:
        return float(better.sum()) / NATS
    error = float(better.std()) / len(better) ** 0.5
    return float(better.mean()) / (CLEAR * error) if error else 0.0


def _insisted(hearing: Hearing, trusted: Weights) -> Weights:
    """The likeliest weights, if each loses `FIRM` nats for the squared share that it changes by."""
    from scipy.optimize import minimize  # which predictions need not wait for

    kept = np.flatnonzero(trusted)
    if len(kept) < 2:
        return trusted
    heard = hearing.of(kept.tolist()).times(trusted[kept])
    surprise, clips = _mean_cross_entropy(heard)

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


def _best_weights(hearing: Hearing) -> Weights:
    from scipy.optimize import minimize, nnls  # half a second that predictions need not wait

    if hearing.is_of_numbers:
        rows = ~np.isnan(hearing.held[:, :, 0]).all(axis=0)
        said = np.nan_to_num(hearing.held[:, rows, 0])
        found, _ = nnls(said.T, hearing.labels[rows].astype(np.float64))
        return np.asarray(found)
    loss, _ = _mean_cross_entropy(hearing)
    start = np.full(len(hearing.held), START)
    bounds = [(0.0, MOST)] * len(start)
    return np.asarray(minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x)


def _mean_cross_entropy(
    hearing: Hearing,
) -> tuple[Callable[[Weights], tuple[float, Weights]], int]:
    """From weights to the mean cross-entropy and its slope; and how many clips it is the mean of.

    Clips of which nobody said anything do not count.
    """
    rows = ~np.isnan(hearing.held[:, :, 0]).all(axis=0)
    scores, labels = np.nan_to_num(hearing.held[:, rows]), hearing.labels[rows].astype(np.int64)
    each = np.arange(len(labels))
    own = scores[:, each, labels].mean(axis=1)

    def loss(weights: Weights) -> tuple[float, Weights]:
        total = hearing.prior + np.tensordot(weights, scores, 1)
        total -= total.max(axis=1, keepdims=True)
        shares = np.exp(total)
        norms = shares.sum(axis=1, keepdims=True)
        surprise = np.log(norms[:, 0]) - total[each, labels]
        expected = np.einsum("kc,ekc->e", shares / norms, scores) / len(labels)
        return float(surprise.mean()), expected - own

    return loss, len(labels)
