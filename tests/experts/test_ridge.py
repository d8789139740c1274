"""Closed forms against refitting and scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge as Oracle

from mmalign.errors import DataError
from mmalign.experts import ridge
from mmalign.experts.ridge import fit_ridge

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(30, 50))
TARGETS = np.stack([FEATURES[:, 0] + 0.1 * RNG.normal(size=30), RNG.normal(size=30)], axis=1)


def standard(features: np.ndarray) -> np.ndarray:
    return (features - FEATURES.mean(axis=0)) / FEATURES.std(axis=0)


def test_weights_are_those_of_scikit_learn():
    fit = fit_ridge(FEATURES, TARGETS)
    oracle = Oracle(alpha=fit.penalty).fit(standard(FEATURES), TARGETS)
    new = RNG.normal(size=(7, 50))
    np.testing.assert_allclose(fit.ridge.predict(new), oracle.predict(standard(new)), atol=1e-8)


@pytest.mark.parametrize("groups", [None, np.arange(30) % 7])
def test_what_is_said_of_left_out_clips_is_what_refitting_says(groups):
    fit = fit_ridge(FEATURES, TARGETS, groups)
    for group in range(5):
        out = np.arange(30) == group if groups is None else groups == group
        # Standardised by all clips, as the closed form is; only weights and intercept are refitted.
        oracle = Oracle(alpha=fit.penalty).fit(standard(FEATURES[~out]), TARGETS[~out])
        np.testing.assert_allclose(
            fit.held_out[out], oracle.predict(standard(FEATURES[out])), atol=1e-6
        )


def test_features_without_spread_count_for_nothing():
    constant = np.concatenate([FEATURES, np.full((30, 2), 5.0)], axis=1)
    fit = fit_ridge(constant, TARGETS)
    moved = constant.copy()
    moved[:, -2:] = 100.0
    np.testing.assert_allclose(fit.ridge.predict(moved), fit.ridge.predict(constant))


def test_noise_gets_a_large_penalty_and_signal_a_small_one():
    clean = FEATURES @ RNG.normal(size=(50, 1))
    noise = RNG.normal(size=(30, 1))
    assert fit_ridge(FEATURES[:, :5], FEATURES[:, :1]).penalty < fit_ridge(FEATURES, noise).penalty
    assert fit_ridge(FEATURES, clean).error(clean) < float(clean.var())


def test_a_feature_that_only_rounds_is_constant():
    """As the mean of a detector that is always on, over clips that are centred."""
    random = np.random.default_rng(0)
    features = random.normal(size=(20, 3)).astype(np.float32)
    features[:, 1] = 1.2 + 1e-7 * random.normal(size=20).astype(np.float32)
    found = fit_ridge(features, random.normal(size=(20, 1))).ridge
    assert np.isinf(found.scale).tolist() == [False, True, False]
    np.testing.assert_array_equal(found.weights[1], 0)


def test_features_that_never_change_predict_the_mean():
    targets = np.array([[1.0], [2.0], [6.0]])
    fit = fit_ridge(np.full((3, 4), 7.0), targets)
    assert np.isfinite(fit.held_out).all()
    assert fit.ridge.predict(np.full((2, 4), 7.0)) == pytest.approx(np.full((2, 1), 3.0))
    assert fit.held_out[:, 0] == pytest.approx([4.0, 3.5, 1.5])


def test_a_matrix_that_is_not_positive_definite_has_no_inverse():
    """LAPACK leaves finite numbers behind, and says so only in a flag that nobody read."""
    gram = np.array([[1.0, 2.0], [2.0, 1.0]])  # with eigenvalues 3 and -1
    assert ridge._inverse(gram, 0.5) is None
    np.testing.assert_allclose(ridge._inverse(gram, 1.5), np.linalg.inv(gram + 1.5 * np.eye(2)))


def test_the_search_stays_away_from_penalties_that_are_not_enough(monkeypatch):
    """Rounding can make the products of clips indefinite; here it does as if by much."""
    solve, least = ridge._inverse, [0.0]
    monkeypatch.setattr(
        ridge, "_inverse", lambda gram, penalty: solve(gram - least[0] * np.eye(30), penalty)
    )
    clean = FEATURES @ np.ones((50, 1))
    usual = fit_ridge(FEATURES, clean)
    least[0] = 20 * usual.penalty
    fit = fit_ridge(FEATURES, clean)
    assert fit.penalty > least[0]
    assert np.isfinite(fit.held_out).all()
    least[0] = 1e9
    with pytest.raises(DataError, match="no ridge can be fitted"):
        fit_ridge(FEATURES, clean)
