"""Which features the ridge reads is chosen on clips that were left out."""

from dataclasses import replace

import numpy as np
import pytest

from mmalign.data.inputs import Sense
from mmalign.data.task import Classification
from mmalign.experts import RidgeExpert
from mmalign.experts.contract import Lesson
from mmalign.experts.ridge import Fit, Ridge, fit_ridge
from mmalign.experts.ridge_expert import (
    MANY_GROUPS,
    PATTERNS,
    _centred_in_doubt,
    choose_sense,
    is_wrong,
)
from mmalign.experts.soundness import _feature_counts

TASK = Classification(("first", "second"))


def lesson_of(clips):
    return Lesson(clips, np.arange(len(clips)) % 2, TASK, None, seed=0)


def order_of_bumps(count, rng):
    """A high and a low bump somewhere; the class is which comes first, so no histogram tells it."""
    clips = []
    for number in range(count):
        steps = 0.1 * rng.normal(size=(60, 1))
        early, late = rng.integers(5, 20), rng.integers(35, 50)
        sign = 1 if number % 2 else -1
        steps[early : early + 6] += sign
        steps[late : late + 6] -= sign
        clips.append(steps.astype(np.float32))
    return clips


def levels(count, rng):
    """Steps around a level that is the class; zero-sum patterns see none of it."""
    return [
        (2.0 * (number % 2) + rng.normal(size=(30, 2))).astype(np.float32)
        for number in range(count)
    ]


def test_windows_are_left_out_where_only_the_order_of_distant_steps_tells():
    clips = order_of_bumps(24, np.random.default_rng(0))
    sense, patterns = choose_sense(lesson_of(clips), smooth=True)
    assert (sense.windows, patterns) == (False, PATTERNS)


def test_windows_stay_where_only_the_level_tells():
    sense, patterns = choose_sense(lesson_of(levels(40, np.random.default_rng(1))), smooth=True)
    assert (sense.windows, patterns) == (True, PATTERNS)


def tilted(people, rng):
    """A wave whose pace is the class, on a level that is the person's own."""
    clips = []
    for _ in range(people):
        level = 3 * rng.normal(size=2)
        for number in range(16):
            time = np.arange(40) * (0.3 if number % 2 else 0.5) + rng.uniform(0, 6)
            wave = np.stack([np.sin(time), np.cos(time)], axis=1)
            clips.append((level + wave + 0.3 * rng.normal(size=wave.shape)).astype(np.float32))
    return replace(lesson_of(clips), groups=np.repeat(np.arange(people), 16))


def test_clips_of_known_people_lose_their_mean_when_in_doubt_and_keep_it_where_it_tells():
    rng = np.random.default_rng(0)
    assert choose_sense(tilted(4, rng), smooth=True)[0].centre
    told = replace(lesson_of(levels(64, rng)), groups=np.arange(64) // 16)
    assert not choose_sense(told, smooth=True)[0].centre


@pytest.fixture
def lean():
    lesson = lesson_of(order_of_bumps(24, np.random.default_rng(0)))
    sense, _ = choose_sense(lesson, smooth=True)
    expert = RidgeExpert(200, 20)
    expert.fit(lesson, sense)
    return expert, lesson


def test_an_expert_without_windows_is_restored_as_it_was(lean):
    expert, lesson = lean
    other = RidgeExpert()
    other.restore(expert.state())
    np.testing.assert_array_equal(other.evidence(lesson.clips), expert.evidence(lesson.clips))


def test_the_count_of_features_knows_that_windows_were_left_out(lean):
    assert sum(_feature_counts(lean[0])) == len(lean[0].ridge.weights)


def left_when_centring_spoils(spoiled, groups):
    """Which of centring and not is left, if centred clips are wrong where it is spoiled."""
    clips = [np.zeros((4, 1), np.float32)] * len(groups)
    labels = np.arange(len(groups)) % 2
    lesson = Lesson(clips, labels, TASK, groups, seed=0)
    right = np.where(labels[:, None] == [0, 1], 1.0, -1.0)
    wrong = -right
    plain = Sense(centre=False, own_scale=False, smooth=True)

    def tried(held_out, *, centre):
        fit = Fit(Ridge(np.zeros(1), np.ones(1), np.zeros((1, 2)), np.zeros(2)), held_out, 1.0)
        return fit, (replace(plain, centre=centre), 84)

    centred = tried(np.where(spoiled[:, None], wrong, right), centre=True)
    left = _centred_in_doubt(lesson, groups, [tried(right, centre=False), centred])
    return [sense.centre for _, (sense, _) in left]


def test_one_person_alone_does_not_speak_against_centring():
    """Over clips the difference is clear; over people it is not."""
    groups = np.repeat(np.arange(3), 20)
    assert left_when_centring_spoils(groups == 0, groups) == [True]
    every_third = np.arange(len(groups)) % 3 == 0
    assert left_when_centring_spoils(every_third, groups) == [False]


def test_centred_clips_that_tell_nothing_get_no_benefit_of_the_doubt():
    groups = np.repeat(np.arange(3), 20)
    assert left_when_centring_spoils(groups >= 0, groups) == [False, True]


def test_scores_that_tie_are_no_answer():
    """Rounding must not decide: where every group shows each class as often, nothing is a tie."""
    labels, groups = np.arange(40) % 2, np.repeat(np.arange(4), 10)
    lesson = Lesson([np.zeros((1, 2), np.float32)] * 40, labels, TASK, groups, seed=0)
    found = fit_ridge(np.zeros((40, 3), np.float32), lesson.targets(), groups)
    assert is_wrong(found.held_out, labels).all()


def test_many_people_need_no_benefit_of_the_doubt():
    groups = np.repeat(np.arange(MANY_GROUPS), 3)
    assert left_when_centring_spoils(groups == 0, groups) == [False, True]
    fewer = groups[3:]
    assert left_when_centring_spoils(fewer == 1, fewer) == [True]


@pytest.mark.parametrize(("channels", "banks"), [(1, 1), (2, 2)])
def test_one_channel_has_one_scale_and_one_bank_of_as_many_features(channels, banks):
    rng = np.random.default_rng(0)
    clips = [rng.normal(size=(300, channels)).astype(np.float32) for _ in range(12)]
    expert = RidgeExpert(4000, 10)
    expert.fit(lesson_of(clips), Sense(centre=True, own_scale=False, smooth=True))
    assert len(expert.banks) == banks
    assert 2500 < sum(bank.thresholds.size for bank in expert.banks) <= 4000
    restored = RidgeExpert()
    restored.restore(expert.state())
    np.testing.assert_array_equal(restored.evidence(clips), expert.evidence(clips))


GIVEN = [
    {"centre": True},
    {"centre": False, "own_scale": True},
    {"motion": True, "windows": False},
    {"motion": False, "windows": True, "patterns": False},
    {"windows": False, "patterns": False, "motion": True},
]


@pytest.mark.parametrize("given", GIVEN, ids=str)
@pytest.mark.parametrize("smooth", [True, False])
def test_what_is_given_is_not_chosen_and_the_rest_is(given, smooth):
    lesson = replace(lesson_of(levels(24, np.random.default_rng(0))), given=given)
    sense, patterns = choose_sense(lesson, smooth=smooth)
    found = {**vars(sense), "patterns": patterns > 0}
    assert given.items() <= found.items()
    expert = RidgeExpert(patterns // 10, 20)
    expert.fit(lesson, sense)
    assert np.isfinite(expert.evidence(lesson.clips)).all()


def test_people_have_no_say_where_centring_is_given():
    rng = np.random.default_rng(0)
    lesson = replace(tilted(4, rng), given={"centre": False})
    assert not choose_sense(lesson, smooth=True)[0].centre
