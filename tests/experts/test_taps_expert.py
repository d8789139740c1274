"""What the network sees of a clip, and what is kept of it."""

import numpy as np
import pytest

from mmalign.data.inputs import Sense
from mmalign.data.task import Classification
from mmalign.experts import TapsExpert
from mmalign.experts.contract import Lesson

TASK = Classification(("slow", "fast"))


def waves(count, steps):
    rng = np.random.default_rng(0)
    times = np.arange(steps)[:, None] / steps
    return [
        (
            np.sin(2 * np.pi * (2 + n % 2) * (times + rng.uniform()))
            + 0.1 * rng.normal(size=(steps, 2))
        ).astype(np.float32)
        for n in range(count)
    ]


def fitted(steps, *, smooth=True, epochs=1, networks=1):
    clips = waves(16, steps)
    expert = TapsExpert()
    lesson = Lesson(clips, np.arange(16) % 2, TASK, None, seed=0, epochs=epochs, networks=networks)
    expert.fit(lesson, Sense(centre=False, own_scale=False, smooth=smooth))
    return expert, clips


@pytest.mark.parametrize(
    ("steps", "smooth", "together"),
    [
        (40, True, 1),
        (191, True, 1),
        (193, True, 2),
        (640, True, 5),
        (2400, True, 16),
        (640, False, 1),
    ],
)
def test_a_long_signal_is_read_in_means_of_a_few_steps(steps, smooth, together):
    expert, clips = fitted(steps, smooth=smooth)
    assert expert.together == together
    other = TapsExpert()
    other.restore(expert.state())
    np.testing.assert_array_equal(other.evidence(clips), expert.evidence(clips))


def test_a_short_clip_is_answered_by_what_learned_from_long_ones():
    expert, clips = fitted(640)
    assert np.isfinite(expert.evidence([clips[0][:1], clips[1][:7], clips[2]])).all()


@pytest.mark.parametrize(
    ("steps", "smooth", "stride"),
    [(23, True, 1), (24, True, 2), (40, True, 3), (190, True, 4), (640, True, 4), (40, False, 1)],
)
def test_blocks_read_maxima_of_a_few_steps_where_a_signal_has_many(steps, smooth, stride):
    assert fitted(steps, smooth=smooth)[0].networks[0].stride == stride


@pytest.mark.parametrize("length", [4, 5])
def test_a_network_of_an_earlier_version_reads_every_step(length):
    expert, clips = fitted(11)
    state = expert.state()
    assert state["numbers"][4:].tolist() == [1, 1]
    other = TapsExpert()
    other.restore(state | {"numbers": state["numbers"][:length]})
    np.testing.assert_array_equal(other.evidence(clips), expert.evidence(clips))


def test_maxima_of_no_steps_or_of_many_are_refused():
    state = fitted(40)[0].state()
    for wrong in (0, 5, -2, 2.7):
        with pytest.raises(ValueError, match=f"maxima of {wrong} steps"):
            TapsExpert().restore(state | {"numbers": np.append(state["numbers"][:5], wrong)})


def test_means_of_no_steps_or_of_very_many_are_refused():
    state = fitted(640)[0].state()
    for wrong in (0, 17, -3, 4.5):
        with pytest.raises(ValueError, match=f"means of {wrong} steps"):
            TapsExpert().restore(state | {"numbers": np.append(state["numbers"][:4], wrong)})


def test_the_answer_is_the_mean_of_networks_that_differ():
    expert, clips = fitted(40, networks=2)
    alone = []
    for number in range(2):
        other = TapsExpert()
        other.restore(expert.state())
        other.networks = [other.networks[number]]
        alone.append(other.evidence(clips))
    assert np.abs(alone[0] - alone[1]).max() > 0.01
    np.testing.assert_allclose(np.mean(alone, axis=0), expert.evidence(clips), atol=1e-12)


def test_the_first_of_several_networks_is_the_only_one_that_others_have():
    one, two = fitted(40)[0].state(), fitted(40, networks=2)[0].state()
    assert {name.replace("network/", "network2/") for name in one if "network" in name} == {
        *two
    } - {*one}
    for name, array in one.items():
        np.testing.assert_array_equal(array, two[name])


def test_networks_that_differ_in_shape_are_refused():
    state = fitted(40, networks=2)[0].state()
    with pytest.raises(ValueError, match=r"stem\.bias"):
        TapsExpert().restore(state | {"network2/stem.bias": np.zeros(3, np.float32)})
