"""Plans that are not solved for."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.align import band_softmax, is_inside, uniform_plan


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    window=st.integers(1, 12),
    seed=st.integers(0, 2**32 - 1),
)
def test_rows_sum_to_one_inside_the_sequence(lengths, window, seed):
    n = torch.tensor(lengths)
    inside = is_inside(n, window=window, time=31)
    generator = torch.Generator().manual_seed(seed)
    logits = 10 * torch.randn(inside.shape, generator=generator)
    logits = logits.masked_fill(~inside, torch.nan).requires_grad_()
    plan = band_softmax(logits, inside)
    is_row = torch.arange(31) < n[:, None]
    assert (plan.sum(-1)[is_row] - 1).abs().max() <= 1e-6
    assert (plan[~inside] == 0).all()
    plan.square().sum().backward()
    assert logits.grad.isfinite().all()


def test_gradcheck():
    inside = is_inside(torch.tensor([4, 1]), torch.tensor([6, 2]), window=2, time=5)
    logits = torch.randn(inside.shape, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: band_softmax(x, inside), logits)


def test_uniform_plan_spreads_every_row_evenly():
    n, m = torch.tensor([5, 3]), torch.tensor([5, 6])
    plan = uniform_plan(n, m, window=2, time=6, dtype=torch.float64)
    inside = is_inside(n, m, window=2, time=6)
    assert torch.equal(plan > 0, inside)
    assert torch.equal(plan, band_softmax(torch.zeros_like(plan), inside))


def test_a_row_with_one_entry_sends_all_of_its_mass_there():
    plan = uniform_plan(torch.tensor([1]), window=1, time=2)
    assert plan.tolist() == [[[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]]
