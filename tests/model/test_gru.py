"""The compiled GRU is torch's, to rounding, forward and backward."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mmalign.model import gru as module
from mmalign.model.gru import gru_states

SIZES = st.tuples(*(st.integers(1, most) for most in (20, 12, 9, 35)))


def made(sizes: tuple[int, int, int, int], dtype: torch.dtype) -> tuple[nn.GRU, torch.Tensor]:
    batch, time, features, dim = sizes
    torch.manual_seed(0)
    gru = nn.GRU(features, dim, batch_first=True).to(dtype)
    return gru, (3 * torch.randn(batch, time, features, dtype=dtype)).requires_grad_()


@settings(max_examples=30, deadline=None)
@given(SIZES, st.sampled_from([torch.float32, torch.float64]))
def test_states_and_gradients_are_torch_s(sizes, dtype):
    gru, steps = made(sizes, dtype)
    weights = torch.randn(sizes[0], sizes[1], sizes[3], dtype=dtype)
    ours, theirs = gru_states(gru, steps), gru(steps)[0]
    tolerance = 1e-12 if dtype == torch.float64 else 2e-5
    torch.testing.assert_close(ours, theirs, atol=tolerance, rtol=tolerance)
    learned = [steps, *gru.parameters()]
    gradients = [torch.autograd.grad((found * weights).sum(), learned) for found in (ours, theirs)]
    torch.testing.assert_close(*gradients, atol=10 * tolerance, rtol=10 * tolerance)


def test_gradients_are_those_of_finite_differences():
    gru, steps = made((3, 4, 2, 3), torch.float64)
    assert torch.autograd.gradcheck(lambda given, *_: gru_states(gru, given), (steps,))
    weights = tuple(gru.parameters())

    def with_weights(*given: torch.Tensor) -> torch.Tensor:
        return module._CompiledGRU.apply(
            steps.detach(),
            given[0],
            given[2],
            given[1],
            given[3],
            module.kernels("model.kernels.gru"),
        )

    assert torch.autograd.gradcheck(with_weights, weights)


def test_batch_mates_and_what_follows_do_not_matter():
    gru, steps = made((9, 7, 4, 5), torch.float64)
    with torch.no_grad():
        together = gru_states(gru, steps)
        alone = gru_states(gru, steps[4:5, :3])
    torch.testing.assert_close(together[4:5, :3], alone, atol=1e-14, rtol=0)


def test_rows_that_make_no_tile_are_multiplied_to_the_same_bits():
    kernel = module.kernels("model.kernels.gru")
    width = 32
    rows, weights = (torch.randn(count, width).numpy() for count in (13, width))
    found, tiles = (np.empty((16, width), np.float32) for _ in range(2))
    kernel.multiply(rows.ravel(), weights, width, found[:13].ravel())
    kernel.multiply(np.pad(rows, ((0, 3), (0, 0))).ravel(), weights, width, tiles.ravel())
    np.testing.assert_array_equal(found[:13], tiles[:13])
    np.testing.assert_allclose(found[:13], rows @ weights, rtol=0, atol=1e-5)


@pytest.mark.parametrize("size", [1e3, 1e30])
def test_huge_inputs_saturate(size):
    gru, steps = made((2, 3, 4, 5), torch.float32)
    with torch.no_grad():
        ours, theirs = (run(steps * size) for run in (lambda x: gru_states(gru, x), gru))
    torch.testing.assert_close(ours, theirs[0], atol=1e-6, rtol=1e-6)


def test_an_input_that_is_no_number_stays_one():
    gru, steps = made((2, 3, 4, 5), torch.float32)
    with torch.no_grad():
        steps[0, 1, 0] = float("nan")
        states = gru_states(gru, steps)
    assert states[0, 1:].isnan().all()
    assert states[1].isfinite().all()


def test_without_numba_torch_does_it(monkeypatch):
    gru, steps = made((2, 3, 4, 5), torch.float32)
    monkeypatch.setattr(module, "kernels", lambda _: None)
    assert torch.equal(gru_states(gru, steps), gru(steps)[0])
