"""Compile the kernels of experts ahead of their first use: `python -m mmalign.experts.compile`."""

import numpy as np

from mmalign.align.compiled import kernels
from mmalign.align.kernels.kept import keep_for_reading
from mmalign.data.packed import packed
from mmalign.data.task import Classification
from mmalign.experts.contract import Lesson
from mmalign.experts.patterns import fill_shares, fill_shares_together, fit_patterns
from mmalign.experts.recipe import trained_taps
from mmalign.experts.taps import read_clips, turn_weights
from mmalign.experts.windows import draw_windows, fill_windows


def compile_kernels() -> bool:
    """Use every kernel once; tells whether there are any to compile."""
    if kernels("experts.taps_kernels") is None:
        return False
    rng = np.random.default_rng(0)
    clips = [rng.normal(size=(12, 2)).astype(np.float32) for _ in range(2)]
    bank = fit_patterns(clips, features=84, rng=rng)
    for some in (clips, clips[:1]):  # side by side, and alone
        bank.transform(some)
    draw_windows(2, detectors=8, rng=rng).transform(clips)
    lesson = Lesson(clips, np.array([0, 1]), Classification(("a", "b")), None, seed=0, epochs=1)
    network = trained_taps(lesson, step_gain=1.0, stride=2, dim=64, blocks=1, is_smooth=True)
    network(packed(clips))
    used = [fill_shares, fill_shares_together, fill_windows, turn_weights, read_clips]
    keep_for_reading("experts", used)
    return True


if __name__ == "__main__":
    compile_kernels()
