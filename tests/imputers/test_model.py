"""The scaler: what numpy would subtract and divide by."""

import numpy as np
import torch

from mmalign.data import Split
from mmalign.imputers.model import Scaler


def test_a_scaler_learns_mean_and_scale_of_what_is_there():
    random = np.random.default_rng(0)
    steps = [3 + 2 * random.standard_normal((n, 2), dtype=np.float32) for n in (4, 1, 7)]
    for sequence in steps:
        sequence[:, 1] = 5
    split = Split(tuple("abcd"), None, {"a": [steps[0], None, *steps[1:]]})
    scaler = Scaler(2)
    scaler.fit(split, "a")
    whole = np.concatenate(steps).astype(np.float64)
    np.testing.assert_allclose(scaler.mean.numpy(), whole.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(scaler.scale.numpy(), [whole[:, 0].std(), 1], rtol=1e-6)
    scaled = scaler(torch.from_numpy(np.concatenate(steps)))
    assert scaled.mean(dim=0).abs().max() < 1e-6


def test_a_scaler_of_a_modality_that_nobody_has_changes_nothing():
    scaler = Scaler(2)
    scaler.fit(Split(("a",), None, {"a": [None]}), "a")
    assert scaler.mean.tolist() == [0, 0]
    assert scaler.scale.tolist() == [1, 1]
