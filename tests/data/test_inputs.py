"""Centring and scaling."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data.inputs import coarse, fit_inputs, is_smooth

RNG = np.random.default_rng(0)
CLIPS = [
    (RNG.normal(size=(12, 3)) * [1.0, 100.0, 0.0] + [5.0, 0.0, 2.0] + n).astype(np.float32)
    for n in range(6)
]


def test_centred_clips_have_mean_zero_wherever_they_stood():
    moved = [clip + 1000 for clip in CLIPS]
    inputs = fit_inputs(CLIPS, centre=True, own_scale=True)
    for seen, other in zip(inputs(CLIPS), inputs(moved), strict=True):
        np.testing.assert_allclose(seen.mean(axis=0), 0, atol=1e-5)
        np.testing.assert_allclose(seen, other, atol=1e-3)


def test_own_scales_make_channels_equal_and_a_common_one_keeps_their_ratio():
    own = np.concatenate(fit_inputs(CLIPS, centre=True, own_scale=True)(CLIPS)).std(axis=0)
    common = np.concatenate(fit_inputs(CLIPS, centre=True, own_scale=False)(CLIPS)).std(axis=0)
    np.testing.assert_allclose(own[:2], 1, rtol=1e-4)
    assert common[1] / common[0] > 50
    assert own[2] == 0  # a constant channel stays one


def test_signals_are_smooth_and_words_are_not():
    waves = [np.sin(np.arange(30)[:, None] / 3 + n).astype(np.float32) for n in range(5)]
    words = [RNG.normal(size=(9, 20)).astype(np.float32) for _ in range(20)]
    assert is_smooth(waves)
    assert not is_smooth(words)
    assert not is_smooth([clip[:1] for clip in words])


@given(st.integers(1, 30), st.integers(1, 9))
def test_coarse_steps_are_means_of_a_few_in_a_row(length, together):
    steps = np.random.default_rng(length).normal(size=(length, 2)).astype(np.float32)
    expected = [
        steps[start : start + together].mean(axis=0) for start in range(0, length, together)
    ]
    np.testing.assert_allclose(coarse(steps, together), expected, atol=1e-6)
