"""Compile all kernels ahead of their first use: `python -m mmalign.experts.compile`.

Those of the alignment and of the network (:mod:`mmalign.model.compile`), and the experts' own.
"""

import numpy as np
import torch

from mmalign.align.compiled import kernels
from mmalign.experts.patterns import fit_patterns
from mmalign.experts.taps import Taps
from mmalign.experts.windows import draw_windows
from mmalign.model.compile import compile_kernels as compile_model


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
    network = Taps(2, 2, step_gain=1.0, dim=8)
    evidence = network(torch.from_numpy(np.stack(clips)), torch.tensor([12, 9]))
    evidence.sum().backward()
    return compile_model()


if __name__ == "__main__":
    compile_kernels()
