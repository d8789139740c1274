"""The cycle of learning rates, and changes that leave a clip's shape."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmalign.experts.augment import Augment
from mmalign.experts.recipe import cycle


def test_the_rate_rises_in_a_line_and_falls_to_zero():
    rates = [cycle(step / 1000, 0.1) for step in range(1001)]
    assert max(rates) == cycle(0.1, 0.1) == 1.0
    assert all(a < b for a, b in itertools.pairwise(rates[:101]))
    assert all(a > b for a, b in itertools.pairwise(rates[100:]))
    assert rates[-1] < 1e-12


@given(st.integers(1, 40), st.integers(0, 99))
def test_a_changed_clip_keeps_its_shape_and_nearly_its_values(length, seed):
    rng = np.random.default_rng(seed)
    clip = np.linspace(-1, 1, length, dtype=np.float32)[:, None]
    changed = Augment(jitter=0.0, gain=0.0)(clip, rng)
    assert changed.shape == clip.shape
    assert changed.dtype == np.float32
    assert np.abs(changed).max() <= 1 + 1e-6
    assert (np.diff(changed[:, 0]) >= -1e-6).all()  # time keeps its direction
