"""Window features against a naive loop."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmalign.align.kernels.tiled import TOUCHED
from mmalign.experts.windows import SPARE, WIDTHS, draw_windows


@given(st.integers(1, 30), st.integers(1, 40), st.integers(1, 40), st.integers(0, 99))
def test_mean_and_maximum_are_those_of_a_naive_loop(time, channels, detectors, seed):
    rng = np.random.default_rng(seed)
    bank = draw_windows(channels, detectors=detectors, rng=rng)
    steps = rng.normal(size=(time, channels)).astype(np.float32)
    expected = []
    for width, weights, bias in zip(WIDTHS, bank.weights, bank.biases, strict=True):
        long = np.concatenate([steps, np.repeat(steps[-1:], max(0, width - time), axis=0)])
        rows = [long[t : t + width].ravel() for t in range(len(long) - width + 1)]
        answers = np.array([np.maximum(row @ weights + bias, 0) for row in rows])
        expected += [answers.mean(axis=0), answers.max(axis=0)]
    found = bank.transform([steps])[0]
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-4, atol=1e-5)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(0, 99))
def test_clips_beside_a_clip_change_nothing(lengths, seed):
    rng = np.random.default_rng(seed)
    bank = draw_windows(2, detectors=5, rng=rng)
    clips = [rng.normal(size=(length, 2)).astype(np.float32) for length in lengths]
    alone = np.concatenate([bank.transform([steps]) for steps in clips])
    np.testing.assert_array_equal(bank.transform(clips), alone)


def test_room_after_the_last_clip_is_enough_for_whole_tiles():
    """Their height depends on the processor; windows do not import kernels to ask for it."""
    assert SPARE >= TOUCHED
