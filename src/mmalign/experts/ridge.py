"""Ridge regression in closed form, its penalty chosen by exact leave-one-out or leave-group-out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from jaxtyping import Float, Int64

from mmalign.errors import DataError

PENALTIES = np.logspace(-3, 4, 15)
"""Relative to the mean squared norm of a standardised clip."""

CONSTANT = 1e-5
"""A feature that varies less, beside its mean, is constant: what is left is rounding of float32."""


@dataclass(frozen=True)
class Ridge:
    """Weights on standardised features.

    Attributes:
        mean: Mean of each feature on training clips.
        scale: Scale of each feature on training clips.
        weights: One column an output.
        intercept: What an average clip gets.
    """

    mean: Float[np.ndarray, " features"]
    scale: Float[np.ndarray, " features"]
    weights: Float[np.ndarray, "features outputs"]
    intercept: Float[np.ndarray, " outputs"]

    def predict(
        self, features: Float[np.ndarray, "clips features"]
    ) -> Float[np.ndarray, "clips outputs"]:
        """One row of outputs a clip, computed in the precision that it was fitted in."""
        return self.predict_centred(features - self.mean)

    def predict_centred(
        self, features: Float[np.ndarray, "clips features"]
    ) -> Float[np.ndarray, "clips outputs"]:
        """The same, of features less their means."""
        return np.asarray(features @ self._slopes + self.intercept)

    @cached_property
    def _slopes(self) -> Float[np.ndarray, "features outputs"]:
        """Weights for features that are centred but not scaled."""
        weights = self.weights / np.asarray(self.scale, np.float64)[:, None]
        return np.asarray(weights, self.mean.dtype)


@dataclass(frozen=True)
class Fit:
    """A fitted ridge with what it says of clips that it was not fitted to.

    Attributes:
        ridge: Fitted to all clips.
        held_out: For each clip, the output of the ridge without it (or without its group).
        penalty: The chosen penalty.
    """

    ridge: Ridge
    held_out: Float[np.ndarray, "clips outputs"]
    penalty: float

    def error(self, targets: Float[np.ndarray, "clips outputs"]) -> float:
        """Mean squared error on held-out clips."""
        return float(np.mean((self.held_out - targets) ** 2))


def fit_ridge(
    features: Float[np.ndarray, "clips features"],
    targets: Float[np.ndarray, "clips outputs"],
    groups: Int64[np.ndarray, " clips"] | None = None,
    penalties: Float[np.ndarray, " penalties"] = PENALTIES,
) -> Fit:
    """Fit, with the penalty that does best on clips (or groups of clips) that are left out.

    In the dual: the cost is cubic in the clips and linear in the features. Leaving out needs no
    refitting: with residuals e and hat matrix H, those without group g are (I - H_gg)^-1 e_g.
    Penalties are tried from a moderate one on, as long as the error falls.

    Raises:
        DataError: If features are so large that their squares overflow, or no penalty is enough to
            solve for weights.
    """
    mean, scale, standard = _standardised(features)
    intercept = targets.mean(axis=0)
    centred = targets - intercept
    gram = (standard @ standard.T).astype(np.float64)
    size = np.trace(gram) / len(gram) or 1.0  # 0 if every feature is constant

    @cache
    def tried(place: int) -> tuple[float, np.ndarray, np.ndarray]:
        penalty = float(size * penalties[place])
        inverse = _inverse(gram, penalty)
        if inverse is None:
            return np.inf, centred, centred
        shrunk = penalty * inverse
        residual = shrunk @ centred
        left_out = _without(shrunk, residual, groups)
        return float(np.mean(left_out**2)), residual / penalty, left_out

    best = _lowest(len(penalties), lambda place: tried(place)[0])
    error, dual, left_out = tried(best)
    if np.isinf(error):
        raise DataError(
            "no ridge can be fitted: no penalty outweighs the rounding of its products",
            fix="If the features are sound, please report this.",
        )
    weights = standard.T @ dual.astype(standard.dtype)
    ridge = Ridge(mean, scale, weights.astype(np.float64), intercept)
    return Fit(ridge, targets - left_out, float(size * penalties[best]))


def _lowest(places: int, height: Callable[[int], float]) -> int:
    """Where it goes up to both sides, found by going down from the first third.

    Where that is infinitely high, the way down begins at the next place that is not.
    """
    here = places // 3
    while np.isinf(height(here)) and here < places - 1:
        here += 1
    while True:
        around = [place for place in (here, here - 1, here + 1) if 0 <= place < places]
        lowest = min(around, key=height)
        if lowest == here:
            return here
        here = lowest


def _inverse(
    gram: Float[np.ndarray, "clips clips"], penalty: float
) -> Float[np.ndarray, "clips clips"] | None:
    """(gram + penalty I)^-1; None if that is not positive definite, which LAPACK only tells."""
    from scipy.linalg.lapack import dpotrf, dpotri  # which predictions need not wait for

    # Fortran's order of a symmetric matrix is its own: nothing is copied or turned.
    factor, fault = dpotrf((gram + penalty * np.eye(len(gram))).T, overwrite_a=True)
    if fault:
        return None
    upper, fault = dpotri(factor, overwrite_c=True)
    return None if fault else np.asarray(upper + np.triu(upper, 1).T)


def _standardised(
    features: Float[np.ndarray, "clips features"],
) -> tuple[
    Float[np.ndarray, " features"],
    Float[np.ndarray, " features"],
    Float[np.ndarray, "clips features"],
]:
    """Mean and scale of each feature, and the features by them; constant ones become 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean = features.mean(axis=0)
        standard = features - mean
        scale = np.sqrt(np.einsum("cf,cf->f", standard, standard) / len(features))
        if not (np.isfinite(mean) & np.isfinite(scale)).all():
            raise DataError("values too large to learn from", fix="Give it in larger units.")
    scale = np.where(scale > CONSTANT * np.maximum(1.0, np.abs(mean)), scale, np.inf)
    standard /= scale.astype(features.dtype)
    return mean, scale, standard


def _without(
    shrunk: Float[np.ndarray, "clips clips"],
    residual: Float[np.ndarray, "clips outputs"],
    groups: Int64[np.ndarray, " clips"] | None,
) -> Float[np.ndarray, "clips outputs"]:
    """Residuals of every clip under the fit without its group; I - H = shrunk - 1/n."""
    count = len(shrunk)
    if groups is None:
        own = np.diag(shrunk) - 1.0 / count
        return np.asarray(residual / np.maximum(own, 1e-12)[:, None])
    left_out = np.empty_like(residual)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        own = shrunk[np.ix_(rows, rows)] - 1.0 / count
        left_out[rows] = np.linalg.solve(own + 1e-10 * np.eye(len(own)), residual[rows])
    return left_out
