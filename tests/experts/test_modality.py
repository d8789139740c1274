"""How much the network counts beside the ridge: a rehearsal says, or how it fares on its clips."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data.clip import Clip
from mmalign.data.task import Classification, Regression
from mmalign.errors import CorruptArtifactError
from mmalign.experts import Experts
from mmalign.experts.contract import Lesson
from mmalign.experts.modality import HALF, best_share, class_share, rehearsing
from mmalign.experts.saving import pack_panel, unpack_panel


def levels(count, seed=0):
    """A wave around a level, which is the label: a ridge tells it at once."""
    rng = np.random.default_rng(seed)
    labels = rng.normal(size=count)
    waves = [np.sin(np.arange(12) + rng.uniform(0, 6)) for _ in range(count)]
    return [
        Clip(str(n), float(label), {"wave": (label + 0.1 * wave)[:, None].astype(np.float32)})
        for n, (label, wave) in enumerate(zip(labels, waves, strict=True))
    ]


@pytest.fixture(scope="module")
def hardly_trained():
    return Experts(epochs=1).fit(levels(40))


def error(given, clips):
    return float(np.mean((np.ravel(given) - [clip.label for clip in clips]) ** 2))


def test_the_answer_is_nearly_the_ridge_alone(hardly_trained):
    clips = levels(40, seed=1)
    wave = hardly_trained.experts["wave"]
    steps = [clip.sequences["wave"] for clip in clips]
    half = replace(wave, share=HALF)
    assert wave.share < 0.1
    assert error(wave.evidence(steps), clips) < 0.2 * error(half.evidence(steps), clips)


@given(st.floats(-2, 3), st.integers(2, 30), st.integers(0, 99))
def test_the_share_is_that_of_the_least_squares(truth, clips, seed):
    apart, noise = np.random.default_rng(seed).normal(size=(2, clips, 1))
    wrong = truth * apart + 0.1 * noise
    shares = np.linspace(0, 1, 401)
    errors = [np.mean((wrong - s * apart) ** 2) * clips for s in shares]
    errors += (0.5 - shares) ** 2 * np.mean(apart**2)  # one more clip, which says half
    assert abs(best_share(apart, wrong) - shares[np.argmin(errors)]) < 2e-3


@given(st.lists(st.integers(0, 5), min_size=2, max_size=40), st.booleans())
def test_nobody_rehearses_with_clips_of_people_it_learned_from(people, are_known):
    groups = np.array(people)
    clips = [np.ones((3, 1), np.float32)] * len(groups)
    labels = np.zeros(len(groups), np.float32)
    asked = rehearsing(Lesson(clips, labels, Regression(), groups if are_known else None, seed=0))
    assert 0 < asked.sum() < len(groups)
    if are_known and len(set(people)) > 1:
        assert not set(groups[asked]) & set(groups[~asked])


def test_a_network_that_cannot_learn_its_own_clips_does_not_count():
    """Waves of one period whose sizes differ a thousandfold and are the classes."""
    rng = np.random.default_rng(0)
    clips = [
        Clip(
            f"{size}-{n}",
            f"size{size}",
            {"wave": (10.0**-size * rng.normal(size=(20, 1))).astype(np.float32)},
        )
        for size in range(6)
        for n in range(12)
    ]
    wave = Experts(epochs=1).fit(clips).experts["wave"]
    assert wave.share == 0
    steps = [clip.sequences["wave"] for clip in clips]
    np.testing.assert_array_equal(
        wave.evidence(steps).argmax(axis=1), wave.ridge.evidence(steps).argmax(axis=1)
    )


@pytest.mark.parametrize(("wrong", "share"), [(0, HALF), (5, HALF), (6, 0.0), (20, 0.0)])
def test_it_counts_unless_it_is_wrong_more_than_twice_as_often(wrong, share):
    labels = np.zeros(20, np.int64)
    task = Classification(("a", "b"))
    lesson = Lesson([np.ones((3, 1), np.float32)] * 20, labels, task, None, seed=0)
    learned, held_out = np.tile([1.0, 0.0], (2, 20, 1))
    learned[:wrong], held_out[:2] = (0.0, 1.0), (0.0, 1.0)
    assert class_share(lesson, learned, held_out) == share


def test_the_share_is_saved_and_a_senseless_one_is_refused(hardly_trained, tmp_path):
    clips = levels(5, seed=2)
    hardly_trained.save(tmp_path / "model")
    loaded = Experts.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(clips), hardly_trained.predict(clips))
    panel = hardly_trained.fitted
    wrong = {names: replace(one, share=1.7) for names, one in panel.members.items()}
    packed = pack_panel(replace(panel, members=wrong), seed=0, epochs=1)
    with pytest.raises(CorruptArtifactError, match=r"a share of 1\.7"):
        unpack_panel(*packed)
