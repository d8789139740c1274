"""The loops of the pattern features, compiled."""

from typing import no_type_check

import numpy as np

from mmalign.align.kernels.jit import compiled

TAPS = 9


@compiled
@no_type_check
def kernel_answers(signal, dilation, kernel, answers):
    """Fills ``answers`` ``[time]`` with a kernel's answer at each step of ``signal`` ``[time]``.

    Three taps, those of ``kernel``, weigh 2, the others -1. Beyond the ends there is nothing.
    """
    time = len(signal)
    answers[:] = 0.0
    for tap in range(TAPS):
        is_high = tap == kernel[0] or tap == kernel[1] or tap == kernel[2]
        weight = np.float32(2.0) if is_high else np.float32(-1.0)
        shift = (tap - TAPS // 2) * dilation
        for step in range(max(0, -shift), min(time, time - shift)):
            answers[step] += weight * signal[step + shift]


@compiled
@no_type_check
def fill_shares(sequence, dilations, kernels, channels, thresholds, taps, shares):
    """Fills ``shares`` with the share of steps at which each combination exceeds its thresholds.

    ``sequence`` is ``[channels, time]``; combination i sums the channels that ``channels[i]``
    names and applies the kernel ``taps[kernels[i]]``, spread by ``dilations[i]``.
    """
    width, time = sequence.shape
    levels = thresholds.shape[1]
    signal, answers = np.empty(time, np.float32), np.empty(time, np.float32)
    for number in range(len(dilations)):
        signal[:] = 0.0
        for channel in range(width):
            if channels[number, channel]:
                for step in range(time):
                    signal[step] += sequence[channel, step]
        kernel_answers(signal, dilations[number], taps[kernels[number]], answers)
        for level in range(levels):
            above = 0
            threshold = thresholds[number, level]
            for step in range(time):
                above += answers[step] > threshold
            shares[number * levels + level] = above / time
