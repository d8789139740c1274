"""Clips compare as objects, whatever arrays they hold."""

import numpy as np

from mmalign.data.clip import Clip


def test_clips_are_equal_if_they_are_the_same():
    one, other = (Clip("a", 1, {"text": np.zeros((3, 2), np.float32)}) for _ in range(2))
    assert one in [one]
    assert one != other
    assert [other, one].index(one) == 1
