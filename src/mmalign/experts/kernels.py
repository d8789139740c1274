"""The loops of the pattern and window features, compiled."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled, inlined

TAPS = 9


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
    signal = np.empty(time + (TAPS - 1) * dilations.max(), np.float32)
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
def fill_thresholds(sequence, chosen, dilations, kernels, channels, taps, quantiles, thresholds):
    """Fills the rows ``chosen`` of ``thresholds`` with quantiles of a clip's answers."""
    time = sequence.shape[1]
    signal = np.empty(time + (TAPS - 1) * dilations.max(), np.float32)
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


@compiled
@no_type_check
def add_answers(answers, bias, total, highest):
    """Adds rectified answers ``[windows, detectors]`` to ``total``, and raises ``highest``."""
    windows, detectors = answers.shape
    for row in range(windows):
        for k in range(detectors):
            answer = max(answers[row, k] + bias[k], np.float32(0.0))
            total[k] += answer
            highest[k] = max(highest[k], answer)
