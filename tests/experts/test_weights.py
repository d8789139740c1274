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
    Hearing,
    _alone,
    fit_weights,
    helpful,
    shown_by_others,
    surprise,
)

EVEN = np.log(np.full(4, 0.25))
"""Four classes are as likely."""


def heard(held, labels, prior=EVEN) -> Hearing:
    return Hearing(np.asarray(held, np.float64), labels, prior)


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
    good, weak, useless = helpful(heard(*scene))
    assert good > weak > 0
    assert useless == 0


def plain_loss(weights: np.ndarray, held: np.ndarray, labels: np.ndarray, prior=EVEN) -> float:
    losses = []
    for clip, label in enumerate(labels):
        has = ~np.isnan(held[:, clip, 0])
        scores = weights[has] @ held[has, clip] if has.any() else np.zeros(len(prior))
        losses.append(-log_softmax(prior + scores)[label])
    return float(np.mean(losses))


@pytest.mark.parametrize("prior", [EVEN, np.log([0.1, 0.2, 0.3, 0.4])])
def test_helpful_weights_are_those_of_the_largest_likelihood(scene, prior):
    held, labels = scene
    best = helpful(heard(held, labels, prior))
    expected = plain_loss(best, held, labels, prior)
    assert surprise(heard(held, labels, prior), best) == pytest.approx(expected, abs=1e-9)
    added, changed = np.array([0.05, 0.05, 0]), np.array([1.1, 0.9, 1])
    for other in (best + added, best * 1.1, best * 0.9, best * changed):
        assert expected <= plain_loss(other, held, labels, prior) + 1e-9


def trusted_in(held, labels, trust) -> np.ndarray:
    """Each expert as loud as alone, weighted by trust, all by the likeliest factor."""
    alone = [_alone(heard(held[[e]], labels)) for e in range(len(trust))]
    weights = trust * alone
    sizes = np.linspace(0.2, 3, 281)
    losses = [plain_loss(size * weights, held, labels) for size in sizes]
    return sizes[int(np.argmin(losses))] * weights


def penalised(weights, held, labels, trusted) -> float:
    """What `fit_weights` makes small, in nats."""
    change = weights / trusted - 1
    return plain_loss(weights, held, labels) * len(labels) + FIRM * float(change @ change)


def test_weights_go_from_trust_as_far_as_the_clips_insist(scene):
    held, labels = scene
    trust = np.array([0.5, 1.0, 1.0])
    weights = fit_weights(heard(held, labels), trust)
    assert weights[2] == 0
    best, held, trust = helpful(heard(held, labels))[:2], held[:2], trust[:2]
    trusted = trusted_in(held, labels, trust)
    assert trusted[0] < weights[0] < best[0]
    here = penalised(weights[:2], held, labels, trusted)
    for other in ([1.05, 1], [0.95, 1], [1, 1.05], [1, 0.95]):
        assert here < penalised(weights[:2] * other, held, labels, trusted) + 0.02


def test_a_few_right_answers_make_no_expert_loud():
    """Where one was right of all three clips that could tell, it must not drown the others."""
    rng = np.random.default_rng(3)
    labels = rng.integers(4, size=200)
    truth = 2.0 * np.eye(4)[labels] - 1
    usual, rare = truth + rng.normal(size=truth.shape), truth.copy()
    rare[3:] = np.nan
    weights = fit_weights(heard(np.stack([usual, rare]), labels), np.array([1.0, 0.15]))
    assert weights[1] < weights[0]


def test_few_clips_change_little_and_many_much(scene):
    held, labels = scene
    trust = np.array([0.2, 1.0])

    def moved(clips: int) -> float:
        """How much louder the first expert is than by trust, beside the second."""
        part, own = held[:2, :clips], labels[:clips]
        weights, trusted = fit_weights(heard(part, own), trust), trusted_in(part, own, trust)
        return float(weights[0] / weights[1] / (trusted[0] / trusted[1]))

    assert 0.95 < moved(16) < moved(400)


def test_a_loud_expert_is_as_loud_as_a_quiet_one_that_says_the_same(scene):
    """Scores of one expert may be ten times those of another."""
    held, labels = scene
    pair = np.stack([held[0], 0.1 * held[0]])
    first, second = fit_weights(heard(pair, labels), np.ones(2))
    assert not (first and second) or second == pytest.approx(10 * first, rel=0.05)


def test_misleading_experts_still_name_a_class_though_hardly_sure(scene):
    """A weight of 0 would name the commonest class of all clips, whatever they are."""
    held, labels = scene
    for some in (-held[:2], -held[:1]):
        weights = fit_weights(heard(some, labels), np.ones(len(some)))
        assert weights == pytest.approx(np.full(len(some), LEAST))


def test_where_no_clip_can_tell_experts_count_as_trusted():
    nothing, trust = np.full((2, 5, 3), np.nan), np.array([1.0, 0.5])
    hearing = heard(nothing, np.arange(5) % 3, np.zeros(3))
    assert fit_weights(hearing, trust).tolist() == [START, START / 2]


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
    labels = rng.normal(size=300)
    held = np.stack([labels + rng.normal(size=300), -labels])[..., None]
    weights = fit_weights(heard(held, labels, np.zeros(1)), np.array([0.3, 1.0]))
    assert weights[1] == 0  # it says the opposite: never a negative weight
    first = held[0, :, 0]
    assert weights[0] == pytest.approx(first @ labels / (first @ first), rel=1e-4)


def test_numbers_are_weighted_on_clips_that_have_everything_if_there_are_enough():
    """An expert that is alone on most clips does not learn there how to speak beside another."""
    rng = np.random.default_rng(2)
    labels = rng.normal(size=300)
    weak, strong = labels + 3 * rng.normal(size=300), labels + 0.1 * rng.normal(size=300)
    strong[40:] = np.nan
    weights = fit_weights(
        heard(np.stack([weak, strong])[..., None], labels, np.zeros(1)), np.ones(2)
    )
    assert weights[0] < 0.02
    assert weights[1] == pytest.approx(1, abs=0.05)
