"""The scaler: what numpy would subtract and divide by."""

import numpy as np
import pytest
import torch

from mmalign.data import Split
from mmalign.predictor.scaler import Scaler
from mmalign.predictor.scaling import Scaling


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


def scale_of(steps):
    scaler = Scaler(1)
    scaler.fit(Split(("a",), None, {"a": [steps]}), "a")
    return scaler


def noise(factor):
    return np.random.default_rng(0).standard_normal((50, 1), np.float32) * np.float32(factor)


@pytest.mark.parametrize("exponent", [-120, -27, -10, 10, 60])
def test_units_do_not_matter(exponent):
    """Powers of two shift the exponent alone, so that not a bit may differ."""
    ordinary, other = noise(1), noise(2.0**exponent)
    expected = scale_of(ordinary)(torch.from_numpy(ordinary))
    assert torch.equal(scale_of(other)(torch.from_numpy(other)), expected)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e-8, 7e-30, 123456.789, 3e30])
def test_a_constant_feature_keeps_scale_one_whatever_its_unit(value):
    steps = [np.full((n, 1), value, np.float32) for n in (3, 7, 11)]
    scaler = Scaler(1)
    scaler.fit(Split(tuple("abc"), None, {"a": steps}), "a")
    assert scaler.scale.tolist() == [1]
    assert scaler(torch.from_numpy(steps[0])).tolist() == [[0]] * 3


@pytest.mark.parametrize("value", [1.0, 1e-8, -1e9])
def test_neighbouring_floats_differ_by_rounding_alone(value):
    steps = np.full((4, 1), value, np.float32)
    steps[2:] = np.nextafter(steps[2:], np.float32(0))
    assert scale_of(steps).scale.tolist() == [1]
    steps[2:] *= np.float32(1 - 1e-5)
    assert scale_of(steps).scale.item() == pytest.approx(abs(value) * 5e-6, rel=0.1)


def test_a_scale_too_small_to_divide_by_is_none():
    steps = noise(2.0**-140)
    scaler = scale_of(steps)
    assert scaler.scale.tolist() == [1]
    assert torch.isfinite(scaler(torch.from_numpy(steps))).all()


SIGNAL = [
    (offset + np.random.default_rng(n).standard_normal((n, 3)).cumsum(axis=0)).astype(np.float32)
    for n, offset in ((9, 50.0), (14, -20.0), (6, 3.0))
]


def fitted(column, **scaling) -> Scaler:
    scaler = Scaler(column[0].shape[1], Scaling(**scaling))
    scaler.fit(Split(tuple(map(str, range(len(column)))), None, {"a": column}), "a")
    return scaler


def test_centred_clips_forget_where_they_were():
    scaler = fitted(SIGNAL, centre=True)
    centred = np.concatenate([s - s.mean(axis=0) for s in SIGNAL])
    np.testing.assert_allclose(scaler.scale.numpy(), centred.std(axis=0), rtol=1e-5)
    for steps in SIGNAL:
        here, there = (scaler(torch.from_numpy(s)) for s in (steps, steps + np.float32(7)))
        assert here.mean(dim=0).abs().max() < 1e-5
        torch.testing.assert_close(here, there, atol=1e-5, rtol=0)


def test_a_common_scale_keeps_proportions():
    column = [steps * np.float32([1, 2, 4]) for steps in SIGNAL]
    scaler = fitted(column, own_scale=False)
    assert len(set(scaler.scale.tolist())) == 1
    whole = np.concatenate(column).astype(np.float64)
    assert scaler.scale[0].item() == pytest.approx(np.sqrt(whole.var(axis=0).mean()), rel=1e-6)


def test_differences_have_the_size_of_the_features():
    scaler = fitted(SIGNAL, centre=True, own_scale=False, differences=True)
    scaled = [scaler(torch.from_numpy(steps)) for steps in SIGNAL]
    steps = torch.cat([s[:, :3] for s in scaled])
    changes = torch.cat([s[1:, 3:] for s in scaled])
    assert (changes.square().mean() / steps.square().mean()).item() == pytest.approx(1, rel=1e-4)
    for s in scaled:
        assert (s[0, 3:] == 0).all()
        expected = scaler.step_gain * s[:, :3].diff(dim=0)
        torch.testing.assert_close(s[1:, 3:], expected, atol=1e-5, rtol=0)


def test_neither_padding_nor_gaps_are_read():
    scaler = fitted(SIGNAL, centre=True, differences=True)
    is_known = torch.tensor([True, True, True, False, True, True, False, False])
    steps = torch.from_numpy(SIGNAL[0][:8].copy())
    expected = scaler(steps, is_known)
    steps[~is_known] = torch.nan
    found = scaler(steps, is_known)
    assert torch.equal(found[is_known], expected[is_known])
    assert (found[4, 3:] == 0).all()  # what came before lies in the gap
    alone = scaler(steps[:3])
    torch.testing.assert_close(alone[:, 3:], found[:3, 3:], atol=1e-5, rtol=0)


def test_a_gap_does_not_change_what_is_learned():
    gapped = [steps.copy() for steps in SIGNAL]
    gapped[1][5:8] = np.nan
    scaler = fitted(gapped, centre=True, differences=True)
    kept = np.concatenate([s - np.nanmean(s, axis=0) for s in gapped])
    np.testing.assert_allclose(scaler.scale.numpy(), np.nanstd(kept, axis=0), rtol=1e-5)
    assert torch.isfinite(scaler.step_gain)
