"""Adam's steps are torch's, for each part of the weights that is moved."""

import numpy as np
import torch

from mmalign.model.kernels.adam import adam_of_parts

SIZES = (50, 3, 17)
NUMBERS = tuple(map(np.float32, (0.01, 0.1, 0.9, 0.99)))


def test_parts_take_the_steps_of_torch_and_the_others_stay():
    rng = np.random.default_rng(0)
    bounds = np.concatenate(([0], np.cumsum(SIZES)))
    ours = rng.normal(size=bounds[-1]).astype(np.float32)
    theirs = [torch.from_numpy(part.copy()) for part in np.split(ours, bounds[1:-1])]
    optimizer = torch.optim.AdamW(theirs, lr=0.01, weight_decay=0.1, betas=(0.9, 0.99))
    means, squares, counts = np.zeros_like(ours), np.zeros_like(ours), np.zeros(3, np.int64)
    for turn in range(1, 8):
        slopes = (3 * rng.normal(size=len(ours)) / turn**2).astype(np.float32)
        is_moved = np.array([True, turn % 2 == 0, turn != 3])
        parts = zip(theirs, np.split(slopes.copy(), bounds[1:-1]), is_moved, strict=True)
        for weight, slope, is_own in parts:
            weight.grad = torch.from_numpy(slope) if is_own else None
        expected = torch.nn.utils.clip_grad_norm_(theirs, 1.0)
        optimizer.step()
        memory = ours, slopes, means, squares, bounds, is_moved, counts
        norm = adam_of_parts(*memory, *NUMBERS, 1.0)
        np.testing.assert_allclose(norm, float(expected), rtol=1e-5)
    np.testing.assert_allclose(ours, np.concatenate(theirs), rtol=1e-5, atol=1e-6)
    assert counts.tolist() == [7, 3, 6]


def test_slopes_that_are_no_numbers_change_nothing():
    ours, slopes = np.ones(4, np.float32), np.array([1, np.nan, 0, 0], np.float32)
    memory = ours, slopes, np.zeros(4, np.float32), np.zeros(4, np.float32)
    counts = np.zeros(1, np.int64)
    norm = adam_of_parts(*memory, np.array([0, 4]), np.array([True]), counts, *NUMBERS, 1.0)
    assert np.isnan(norm)
    assert ours.tolist() == [1, 1, 1, 1]
    assert counts.tolist() == [0]
