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


def fitted(steps, *, smooth=True, epochs=1):
    clips = waves(16, steps)
    expert = TapsExpert()
    lesson = Lesson(clips, np.arange(16) % 2, TASK, None, seed=0, epochs=epochs)
    expert.fit(lesson, Sense(centre=False, own_scale=False, smooth=smooth))
    return expert, clips


@pytest.mark.parametrize(
    ("steps", "smooth", "together"),
    [
        (40, True, 1),
        (95, True, 1),
        (97, True, 2),
        (320, True, 5),
        (1200, True, 16),
        (320, False, 1),
    ],
)
def test_a_long_signal_is_read_in_means_of_a_few_steps(steps, smooth, together):
    expert, clips = fitted(steps, smooth=smooth)
    assert expert.together == together
    other = TapsExpert()
    other.restore(expert.state())
    np.testing.assert_array_equal(other.evidence(clips), expert.evidence(clips))


def test_a_short_clip_is_answered_by_what_learned_from_long_ones():
    expert, clips = fitted(320)
    assert np.isfinite(expert.evidence([clips[0][:1], clips[1][:7], clips[2]])).all()


def test_means_of_no_steps_or_of_very_many_are_refused():
    state = fitted(320)[0].state()
    for wrong in (0, 17, -3):
        with pytest.raises(ValueError, match=f"means of {wrong} steps"):
            TapsExpert().restore(state | {"numbers": np.append(state["numbers"][:4], wrong)})
