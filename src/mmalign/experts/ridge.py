"""Ridge regression in closed form, its penalty chosen by exact leave-one-out or leave-group-out."""

from dataclasses import dataclass
from functools import cached_property

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
        """One row of outputs a clip."""
        weights, intercept = self._line
        return np.asarray(features @ weights + intercept)

    @cached_property
    def _line(self) -> tuple[Float[np.ndarray, "features outputs"], Float[np.ndarray, " outputs"]]:
        """Weights and intercept for features that are not standardised."""
        weights = self.weights / np.asarray(self.scale, np.float64)[:, None]
        return weights, self.intercept - self.mean @ weights


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

    Raises:
        DataError: If features are so large that their squares overflow.
    """
    mean, scale, standard = _standardised(features)
    intercept = targets.mean(axis=0)
    centred = targets - intercept
    gram = (standard @ standard.T).astype(np.float64)
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    size = np.trace(gram) / len(gram) or 1.0  # 0 if every feature is constant
    rotated = vectors.T @ centred
    best: tuple[float, float, np.ndarray] | None = None
    for penalty in penalties * size:
        residual = penalty * (vectors @ (rotated / (values + penalty)[:, None]))
        left_out = _without(vectors, penalty / (values + penalty), residual, groups)
        error = float(np.mean(left_out**2))
        if best is None or error < best[0]:
            best = error, float(penalty), left_out
    if best is None:
        raise ValueError("there is no penalty to choose from")
    _, penalty, left_out = best
    dual = vectors @ (rotated / (values + penalty)[:, None])
    weights = standard.T @ dual.astype(standard.dtype)
    ridge = Ridge(mean, scale, weights.astype(np.float64), intercept)
    return Fit(ridge, targets - left_out, penalty)


def _standardised(
    features: Float[np.ndarray, "clips features"],
) -> tuple[
    Float[np.ndarray, " features"],
    Float[np.ndarray, " features"],
    Float[np.ndarray, "clips features"],
]:
    """Mean and scale of each feature, and the features by them; constant ones become 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        mean, scale = features.mean(axis=0), features.std(axis=0)
        if not (np.isfinite(mean) & np.isfinite(scale)).all():
            raise DataError("values too large to learn from", fix="Give it in larger units.")
    scale = np.where(scale > CONSTANT * np.maximum(1.0, np.abs(mean)), scale, np.inf)
    return mean, scale, np.asarray((features - mean) / scale, features.dtype)


def _without(
    vectors: Float[np.ndarray, "clips clips"],
    shrink: Float[np.ndarray, " clips"],
    residual: Float[np.ndarray, "clips outputs"],
    groups: Int64[np.ndarray, " clips"] | None,
) -> Float[np.ndarray, "clips outputs"]:
    """Residuals of every clip under the fit without its group; I - H = V shrink V' - 1/n."""
    count = len(vectors)
    if groups is None:
        own = (vectors**2) @ shrink - 1.0 / count
        return np.asarray(residual / np.maximum(own, 1e-12)[:, None])
    left_out = np.empty_like(residual)
    for group in np.unique(groups):
        rows = groups == group
        part = vectors[rows]
        own = (part * shrink) @ part.T - 1.0 / count
        left_out[rows] = np.linalg.solve(own + 1e-10 * np.eye(len(own)), residual[rows])
    return left_out
