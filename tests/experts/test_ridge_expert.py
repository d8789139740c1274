"""Which features the ridge reads is chosen on clips that were left out."""

import numpy as np
import pytest

from mmalign.data.task import Classification
from mmalign.experts import RidgeExpert
from mmalign.experts.contract import Lesson
from mmalign.experts.ridge_expert import PATTERNS, choose_sense
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
