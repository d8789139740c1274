"""The loops of the pattern features, compiled."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled, inlined
from mmalign.align.kernels.simd import (
    everywhere,
    load,
    plus,
    plus_above,
    plus_product,
    store,
    times,
)
from mmalign.experts.layout import LANES, TAPS


@inlined
@no_type_check
def widest(dilations):
    """The largest of them: `max` of an array would need Numba to run."""
    found = dilations[0]
    for dilation in dilations:
        found = max(found, dilation)
    return found


@inlined
@no_type_check
def kernel_answers(sequence, channels, dilation, kernel, signal, answers):
    """Fills ``answers`` ``[time]`` with a kernel's answer at each step.

    ``sequence`` is ``[channels, time]``; those that ``channels`` names are summed. Three taps,
    those of ``kernel``, weigh 2, the others -1: three times the three less all nine. Beyond the
    ends there is nothing; ``signal`` has room for zeros there.
    """
    width, time = sequence.shape
    room = TAPS // 2 * dilation
    signal[: time + 2 * room] = np.float32(0.0)
    for channel in range(width):
        if channels[channel]:
            for step in range(time):
                signal[room + step] += sequence[channel, step]
    d = dilation
    first, second, third = kernel[0] * d, kernel[1] * d, kernel[2] * d
    for t in range(time):
        high = signal[t + first] + signal[t + second] + signal[t + third]
        near = signal[t + 3 * d] + signal[t + 4 * d] + signal[t + 5 * d]
        left = signal[t] + signal[t + d] + signal[t + 2 * d]
        right = signal[t + 6 * d] + signal[t + 7 * d] + signal[t + 8 * d]
        answers[t] = np.float32(3.0) * high - (near + (left + right))


@compiled
@no_type_check
def fill_shares(sequence, dilations, kernels, channels, thresholds, taps, shares):
    """Fills ``shares`` with the share of steps at which each combination exceeds its thresholds.

    Combination i sums the channels that ``channels[i]`` names and applies the kernel
    ``taps[kernels[i]]``, spread by ``dilations[i]``.
    """
    time = sequence.shape[1]
    levels = thresholds.shape[1]
    signal = np.empty(time + (TAPS - 1) * widest(dilations), np.float32)
    answers = np.empty(time, np.float32)
    for number in range(len(dilations)):
        kernel = taps[kernels[number]]
        kernel_answers(sequence, channels[number], dilations[number], kernel, signal, answers)
        for level in range(levels):
            above = np.int32(0)
            threshold = thresholds[number, level]
            for step in range(time):
                above += np.int32(answers[step] > threshold)
            shares[number * levels + level] = above / time


@compiled
@no_type_check
def fill_shares_together(
    sequences, outside, lengths, dilations, kernels, channels, thresholds, taps, shares
):
    """Fills ``shares`` ``[LANES, features]`` as `fill_shares` does, for `LANES` clips side by side.

    ``sequences`` is ``[channels, time, LANES]``, zero from each clip's length on; ``outside``
    ``[time, LANES]`` is 0 before that and minus infinity from there on. Every step of all clips is
    one vector.
    """
    width, time, _ = sequences.shape
    levels = thresholds.shape[1]
    signal = np.empty((time + (TAPS - 1) * widest(dilations)) * LANES, np.float32)
    answers = np.empty(time * LANES, np.float32)
    above = np.empty(LANES, np.float32)
    for number in range(len(dilations)):
        room = TAPS // 2 * dilations[number] * LANES
        signal[: time * LANES + 2 * room] = np.float32(0.0)
        for channel in range(width):
            if channels[number, channel]:
                start = channel * time * LANES
                for at in range(0, time * LANES, LANES):
                    total = plus(load(signal, room + at), load(sequences, start + at))
                    store(total, signal, room + at)
        answer_together(signal, dilations[number], taps[kernels[number]], outside, answers)
        for level in range(levels):
            total, threshold = everywhere(np.float32(0.0)), everywhere(thresholds[number, level])
            for at in range(0, time * LANES, LANES):
                total = plus_above(total, load(answers, at), threshold)
            store(total, above, 0)
            for lane in range(LANES):
                shares[lane, number * levels + level] = above[lane] / lengths[lane]


@inlined
@no_type_check
def answer_together(signal, dilation, kernel, outside, answers):
    """Fills ``answers`` with a kernel's answers to a padded signal, one vector a step."""
    three, minus = everywhere(np.float32(3.0)), everywhere(np.float32(-1.0))
    d = dilation * LANES
    first, second, third = kernel[0] * d, kernel[1] * d, kernel[2] * d
    for at in range(0, len(answers), LANES):
        high = sum_of_three(signal, at + first, at + second, at + third)
        near = sum_of_three(signal, at + 3 * d, at + 4 * d, at + 5 * d)
        left = sum_of_three(signal, at, at + d, at + 2 * d)
        right = sum_of_three(signal, at + 6 * d, at + 7 * d, at + 8 * d)
        others = times(plus(near, plus(left, right)), minus)
        store(plus(plus_product(others, three, high), load(outside, at)), answers, at)


@inlined
@no_type_check
def sum_of_three(signal, first, second, third):
    """The vectors at three places, added up."""
    return plus(plus(load(signal, first), load(signal, second)), load(signal, third))


@compiled
@no_type_check
def fill_thresholds(sequence, chosen, dilations, kernels, channels, taps, quantiles, thresholds):
    """Fills the rows ``chosen`` of ``thresholds`` with quantiles of a clip's answers."""
    time = sequence.shape[1]
    signal = np.empty(time + (TAPS - 1) * widest(dilations), np.float32)
    answers = np.empty(time, np.float32)
    for number in chosen:
        kernel = taps[kernels[number]]
        kernel_answers(sequence, channels[number], dilations[number], kernel, signal, answers)
        ordered = np.sort(answers)
        for level in range(thresholds.shape[1]):
            place = quantiles[number, level] * (time - 1)
            below = int(place)
            above = min(below + 1, time - 1)
            part = np.float32(place - below)
            thresholds[number, level] = ordered[below] + part * (ordered[above] - ordered[below])
