"""The cycle of learning rates, batches, mixtures, and changes that leave a clip's shape."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data.packed import packed
from mmalign.data.task import Classification, Regression
from mmalign.experts import recipe
from mmalign.experts.augment import Augment
from mmalign.experts.contract import Lesson
from mmalign.experts.recipe import Recipe, cycle, train_taps, trained_taps
from mmalign.experts.taps import Taps, Weights, shapes

LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=4)


def test_the_rate_rises_in_a_line_and_falls_to_zero():
    rates = [cycle(step / 1000, 0.1) for step in range(1001)]
    assert max(rates) == cycle(0.1, 0.1) == 1.0
    assert all(a < b for a, b in itertools.pairwise(rates[:101]))
    assert all(a > b for a, b in itertools.pairwise(rates[100:]))
    assert rates[-1] < 1e-12


@given(LENGTHS, st.integers(0, 99))
def test_changed_clips_keep_their_shape_and_nearly_their_values(lengths, seed):
    clips = packed([np.linspace(1, 2, n, dtype=np.float32)[:, None] for n in lengths])
    changed = Augment(jitter=0.0, gain=0.0)(clips, np.random.default_rng(seed))
    assert changed.rows.shape == clips.rows.shape
    for own in np.split(changed.rows[:, 0], changed.bounds[1:-1]):
        assert own.min() >= 1 - 1e-5  # what lies beyond the end is never mixed in
        assert own.max() <= 2 + 1e-5
        assert (np.diff(own) >= -1e-5).all()  # time keeps its direction


@given(LENGTHS, st.floats(0, 1, width=32), st.integers(0, 9))
def test_mixed_clips_are_sums_as_long_as_the_longer(lengths, share, seed):
    rng = np.random.default_rng(seed)
    clips = [rng.normal(size=(n, 2)).astype(np.float32) for n in lengths]
    other = rng.permutation(len(clips))
    mixed = recipe._Mix(np.float32(share), other)(packed(clips))
    for number, (own, theirs) in enumerate(zip(clips, other, strict=True)):
        expected = np.zeros((max(len(own), len(clips[theirs])), 2))
        expected[: len(own)] += share * own
        expected[: len(clips[theirs])] += (1 - share) * clips[theirs]
        found = mixed.rows[mixed.bounds[number] : mixed.bounds[number + 1]]
        np.testing.assert_allclose(found, expected, atol=1e-5)


def lesson(clips: int, task: Classification | Regression, *, epochs: int = 2) -> Lesson:
    rng = np.random.default_rng(0)
    labels = np.arange(clips) % 2
    steps = [(rng.normal(size=(6, 1)) + 2 * label).astype(np.float32) for label in labels]
    numbers = labels if isinstance(task, Classification) else labels.astype(np.float32)
    return Lesson(steps, numbers, task, None, 0, epochs=epochs)


def test_few_clips_are_passed_over_often_enough_to_learn():
    seen = []

    def watched(clips, _):
        seen.append(len(clips))
        return clips

    weights = Weights.drawn(shapes(1, dim=64, blocks=1, outputs=2), np.random.default_rng(0))
    two = Classification(("a", "b"))
    network = Taps(weights.named, 0.0)
    train_taps(network, weights, lesson(10, two), recipe=Recipe(epochs=2), change=watched)
    assert seen == [10] * 16


def test_it_learns_classes_and_numbers_and_the_same_lesson_gives_the_same_bits():
    for task in (Classification(("a", "b")), Regression()):
        given = lesson(40, task, epochs=30)
        networks = [
            trained_taps(given, step_gain=0.0, stride=1, dim=64, blocks=1, is_smooth=False)
            for _ in range(2)
        ]
        said, again = (network(packed(given.clips)) for network in networks)
        np.testing.assert_array_equal(said, again)
        if task.outputs > 1:
            assert (said.argmax(axis=1) == given.labels).mean() > 0.9
        else:
            assert np.abs(said[:, 0] - given.labels).mean() < 0.35  # a constant has 0.5
