"""Pattern features against a plain loop."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.experts import patterns
from mmalign.experts.layout import TAPS
from mmalign.experts.patterns import KERNELS, fit_patterns


def plain_answers(steps: np.ndarray, kernel, dilation: int, channels) -> np.ndarray:
    signal = steps[:, channels].sum(axis=1)
    answers = []
    for step in range(len(signal)):
        answer = 0.0
        for tap in range(TAPS):
            place = step + (tap - TAPS // 2) * dilation
            if 0 <= place < len(signal):
                answer += (2.0 if tap in kernel else -1.0) * signal[place]
        answers.append(answer)
    return np.array(answers)


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 99))
def test_a_feature_is_the_share_of_steps_above_its_threshold(length, width, seed):
    rng = np.random.default_rng(seed)
    clips = [rng.normal(size=(length + n, width)).astype(np.float32) for n in range(4)]
    bank = fit_patterns(clips, features=200, rng=rng)
    found = bank.transform(clips)
    levels = bank.thresholds.shape[1]
    for feature in rng.integers(found.shape[1], size=20):
        number, level = divmod(int(feature), levels)
        answers = plain_answers(
            clips[2],
            KERNELS[bank.kernels[number]],
            int(bank.dilations[number]),
            bank.channels[number],
        )
        threshold = bank.thresholds[number, level]
        least, most = (np.mean(answers > threshold + off) for off in (1e-4, -1e-4))  # ties round
        assert least - 1e-6 <= found[2, feature] <= most + 1e-6


def test_there_are_84_kernels_that_sum_to_zero():
    assert KERNELS.shape == (84, 3)
    assert 3 * 2 - (TAPS - 3) == 0


def test_a_constant_is_nothing_to_a_kernel_away_from_the_ends():
    clips = [np.full((50, 1), value, np.float32) for value in (1.0, 3.0)]
    bank = fit_patterns(clips, features=84, rng=np.random.default_rng(0))
    assert np.isfinite(bank.transform(clips)).all()


def test_channels_are_few_for_most_combinations():
    rng = np.random.default_rng(0)
    clips = [rng.normal(size=(20, 40)).astype(np.float32)]
    counts = fit_patterns(clips, features=2000, rng=rng).channels.sum(axis=1)
    assert counts.min() == 1
    assert counts.max() <= TAPS


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(1, 25), min_size=2, max_size=40), st.integers(1, 5))
def test_clips_side_by_side_are_answered_as_alone_to_the_bit(lengths, width):
    rng = np.random.default_rng(sum(lengths))
    clips = [rng.normal(size=(length, width)).astype(np.float32) for length in lengths]
    bank = fit_patterns(clips, features=300, rng=rng)
    alone = np.concatenate([bank.transform([steps]) for steps in clips])
    np.testing.assert_array_equal(bank.transform(clips), alone)


def test_a_long_clip_among_short_ones_is_answered_alone(monkeypatch):
    rng = np.random.default_rng(0)
    clips = [rng.normal(size=(length, 2)).astype(np.float32) for length in (5, 30, 6)]
    bank = fit_patterns(clips, features=168, rng=rng)
    together = bank.transform(clips)
    monkeypatch.setattr(patterns, "SHORT", 10)
    np.testing.assert_array_equal(bank.transform(clips), together)


def test_a_bank_of_wide_dilations_answers_clip_by_clip(monkeypatch):
    rng = np.random.default_rng(0)
    clips = [rng.normal(size=(length, 2)).astype(np.float32) for length in (5, 6)]
    bank = fit_patterns(clips, features=84, rng=rng)
    together = []
    monkeypatch.setattr(patterns, "fill_shares_together", lambda *_: together.append(1))
    bank.transform(clips)
    assert together == [1]
    replace(bank, dilations=np.full_like(bank.dilations, patterns.SHORT + 1)).transform(clips)
    assert together == [1]
