"""Weights of experts: what helps counts, what tells nothing gets 0."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import log_softmax

from mmalign.experts.weights import (
    FIRM,
    LEAST,
    START,
    fit_weights,
    helpful,
    shown_by_others,
    surprise,
)


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


def penalised(weights, held, labels, trusted) -> float:
    """What `fit_weights` makes small, in nats."""
    change = weights / trusted - 1
    return plain_loss(weights, held, labels) * len(labels) + FIRM * float(change @ change)


def test_weights_go_from_trust_as_far_as_the_clips_insist(scene):
    held, labels = scene
    trust = np.array([0.5, 1.0, 1.0])
    weights = fit_weights(held, labels, trust)
    assert weights[2] == 0
    best, held, trust = helpful(held, labels)[:2], held[:2], trust[:2]
    sizes = np.linspace(0.2, 3, 281)
    losses = [plain_loss(size * trust, held, labels) for size in sizes]
    trusted = sizes[int(np.argmin(losses))] * trust
    assert trusted[0] < weights[0] < best[0]
    assert weights[1] < trusted[1]
    here = penalised(weights[:2], held, labels, trusted)
    for other in ([1.05, 1], [0.95, 1], [1, 1.05], [1, 0.95]):
        assert here < penalised(weights[:2] * other, held, labels, trusted) + 0.02


def test_few_clips_change_little_and_many_much(scene):
    held, labels = scene
    trust = np.array([0.2, 1.0])

    def share(clips: int) -> float:
        weights = fit_weights(held[:2, :clips], labels[:clips], trust)
        return float(weights[0] / weights[1])

    few, many, best = share(12), share(400), helpful(held, labels)
    assert 0.2 <= few < many < best[0] / best[1]


def test_misleading_experts_still_name_a_class_though_hardly_sure(scene):
    """A weight of 0 would name the first class of all clips, whatever they are."""
    held, labels = scene
    weights = fit_weights(-held[:2], labels, np.ones(2))
    assert weights == pytest.approx([LEAST, LEAST], rel=0.1)
    assert fit_weights(-held[:1], labels, np.ones(1)).tolist() == [LEAST]


def test_where_no_clip_can_tell_experts_count_as_trusted():
    nothing, trust = np.full((2, 5, 3), np.nan), np.array([1.0, 0.5])
    assert fit_weights(nothing, np.arange(5) % 3, trust).tolist() == [START, START / 2]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=30))
def test_a_class_is_shown_by_others_if_a_clip_of_another_group_has_it(clips):
    labels, groups = np.array(clips).T
    for given_groups in (groups, None):
        own = np.arange(len(labels)) if given_groups is None else given_groups
        expected = [
            any(labels[b] == labels[a] and own[b] != own[a] for b in range(len(labels)))
            for a in range(len(labels))
        ]
        assert shown_by_others(labels, given_groups).tolist() == expected


def test_numbers_are_weighted_by_least_squares():
    rng = np.random.default_rng(1)
    labels = rng.normal(size=300).astype(np.float32)
    deviations = (labels - labels.mean(dtype=np.float64)).astype(np.float64)
    held = np.stack([deviations + rng.normal(size=300), -deviations])[..., None]
    weights = fit_weights(held, labels, np.ones(2))
    assert weights[1] == 0  # it says the opposite: never a negative weight
    first = held[0, :, 0]
    assert weights[0] == pytest.approx(first @ deviations / (first @ first), rel=1e-4)
