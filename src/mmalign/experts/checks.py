"""Checks that every expert must pass, for those who write one of their own."""

from collections.abc import Callable

import numpy as np

from mmalign.data.inputs import Sense
from mmalign.data.task import Classification, Regression, Task
from mmalign.errors import MMAlignError
from mmalign.experts.contract import Evidence, Expert, Lesson

SENSE = Sense(centre=False, own_scale=False, smooth=True)


def check_expert(make: Callable[[], Expert]) -> None:
    """Check an expert's promises on small made-up lessons.

    Args:
        make: Makes a fresh expert.

    Raises:
        MMAlignError: Names the promise that is broken.
    """
    for task in (Classification(("a", "b", "c")), Regression()):
        lesson = _lesson(task)
        expert = make()
        expert.fit(lesson, SENSE)
        found = expert.evidence(lesson.clips)
        _demand(found.shape == (len(lesson.clips), lesson.outputs), "one row a clip, a score each")
        _demand(bool(np.isfinite(found).all()), "evidence is finite")
        _check_alone(expert, lesson, found)
        _check_repeats(make, expert, lesson, found)
        _demand(_error(lesson, found) < _error(lesson, np.zeros_like(found)), "it learns something")


def _check_alone(expert: Expert, lesson: Lesson, found: Evidence) -> None:
    alone = np.concatenate([expert.evidence([steps]) for steps in lesson.clips])
    _demand(np.allclose(alone, found, atol=1e-4), "a clip's evidence does not depend on others")
    one_step = expert.evidence([lesson.clips[0][:1]])
    _demand(bool(np.isfinite(one_step).all()), "a clip of one step has evidence")


def _check_repeats(
    make: Callable[[], Expert], expert: Expert, lesson: Lesson, found: Evidence
) -> None:
    again = make()
    again.fit(lesson, SENSE)
    _demand(np.array_equal(again.evidence(lesson.clips), found), "the same lesson, the same bits")
    restored = make()
    restored.restore(expert.state())
    same = np.array_equal(restored.evidence(lesson.clips), found)
    _demand(same, "what is restored answers as what was saved")


def _lesson(task: Task) -> Lesson:
    """Waves whose pace tells the label, in clips of different lengths."""
    rng = np.random.default_rng(0)
    labels = np.arange(24) % 3
    clips = [
        np.sin(np.arange(9 + row % 5)[:, None] * (label + 1) + rng.uniform(0, 6, 2))
        for row, label in enumerate(labels)
    ]
    kind = np.int64 if isinstance(task, Classification) else np.float32
    return Lesson([clip.astype(np.float32) for clip in clips], labels.astype(kind), task, None, 0)


def _error(lesson: Lesson, found: Evidence) -> float:
    if lesson.outputs > 1:
        return float(np.mean(found.argmax(axis=1) != lesson.labels))
    return float(np.mean((found[:, 0] - lesson.labels) ** 2))


def _demand(holds: bool, promise: str) -> None:
    if not holds:
        raise MMAlignError(f"this expert breaks a promise: {promise}")
