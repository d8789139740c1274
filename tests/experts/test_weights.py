"""Weights of experts: what helps counts, what tells nothing gets 0."""

import numpy as np
import pytest
from scipy.special import log_softmax

from mmalign.experts.weights import fit_weights, helpful, surprise


@pytest.fixture(scope="module")
def scene() -> tuple[np.ndarray, np.ndarray]:
    """Labels, and the scores of a good, a weak and a useless expert; each lacks some clips."""
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=400)
    truth = 2.0 * np.eye(4)[labels] - 1
    held = np.stack([truth + noise * rng.normal(size=truth.shape) for noise in (1.0, 3.0, 1e3)])
    held[2] /= 1e3
    held[rng.random((3, 400)) < 0.2] = np.nan
    return held, labels


def test_a_useless_expert_gets_nothing_and_a_good_one_most(scene):
    good, weak, useless = helpful(*scene)
    assert good > weak > 0
    assert useless == 0


def plain_loss(weights: np.ndarray, held: np.ndarray, labels: np.ndarray) -> float:
    losses = []
    for clip, label in enumerate(labels):
        has = ~np.isnan(held[:, clip, 0])
        scores = weights[has] @ held[has, clip] if has.any() else np.zeros(4)
        losses.append(-log_softmax(scores)[label])
    return float(np.mean(losses))


def test_helpful_weights_are_those_of_the_largest_likelihood(scene):
    held, labels = scene
    best = helpful(held, labels)
    assert surprise(held, labels, best) == pytest.approx(plain_loss(best, held, labels), abs=1e-9)
    added, changed = np.array([0.05, 0.05, 0]), np.array([1.1, 0.9, 1])
    for other in (best + added, best * 1.1, best * 0.9, best * changed):
        assert plain_loss(best, held, labels) <= plain_loss(other, held, labels) + 1e-9


def test_weights_go_by_trust_and_their_size_by_the_labels(scene):
    held, labels = scene
    weights = fit_weights(held, labels, np.array([0.5, 1.0, 1.0]))
    assert weights[2] == 0
    assert weights[1] == pytest.approx(2 * weights[0])
    for factor in (0.9, 1.1):
        assert plain_loss(weights, held, labels) < plain_loss(factor * weights, held, labels)


def test_numbers_are_weighted_by_least_squares():
    rng = np.random.default_rng(1)
    labels = rng.normal(size=300).astype(np.float32)
    deviations = (labels - labels.mean(dtype=np.float64)).astype(np.float64)
    held = np.stack([deviations + rng.normal(size=300), -deviations])[..., None]
    weights = fit_weights(held, labels, np.ones(2))
    assert weights[1] == 0  # it says the opposite: never a negative weight
    first = held[0, :, 0]
    assert weights[0] == pytest.approx(first @ deviations / (first @ first), rel=1e-4)
