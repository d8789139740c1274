"""The fit loss."""

import pytest
import torch

from mmalign.align import fit_loss, is_inside, to_dense

SOURCE_LENGTHS = torch.tensor([9, 1, 4, 6])
TARGET_LENGTHS = torch.tensor([9, 1, 7, 4])


def draw_plans(dtype=torch.float64):
    generator = torch.Generator().manual_seed(0)
    return torch.rand(2, 4, 9, 5, generator=generator, dtype=dtype)


@pytest.mark.parametrize("targets", [TARGET_LENGTHS, None])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_is_the_mean_over_entries_inside(path, targets, dtype):
    predicted, plan = draw_plans(dtype)
    inside = is_inside(SOURCE_LENGTHS, targets, window=2, time=9)
    expected = (predicted - plan)[inside].square().mean()
    found = fit_loss(predicted, plan, source_lengths=SOURCE_LENGTHS, target_lengths=targets)
    assert torch.allclose(found, expected, rtol=1e-6)
    lengths = {"source_lengths": SOURCE_LENGTHS, "target_lengths": targets}
    gap = to_dense(predicted, **lengths) - to_dense(plan, **lengths)
    assert torch.allclose(found, gap.square().sum() / inside.sum(), rtol=1e-6)


@pytest.mark.parametrize("targets", [TARGET_LENGTHS, SOURCE_LENGTHS])
def test_gradcheck(path, targets):
    predicted, plan = draw_plans()

    def run(predicted, plan):
        return fit_loss(predicted, plan, source_lengths=SOURCE_LENGTHS, target_lengths=targets)

    inputs = (predicted.requires_grad_(), plan.requires_grad_())
    assert torch.autograd.gradcheck(run, inputs)


def test_what_is_outside_is_never_read(path):
    predicted, plan = draw_plans()
    inside = is_inside(SOURCE_LENGTHS, window=2, time=9)
    dirty = predicted.masked_fill(~inside, torch.nan).requires_grad_()
    clean = predicted.clone().requires_grad_()
    losses = [fit_loss(p, plan, source_lengths=SOURCE_LENGTHS) for p in (clean, dirty)]
    for loss in losses:
        loss.backward()
    assert torch.equal(*losses)
    assert torch.equal(clean.grad, dirty.grad)
    assert (clean.grad[~inside] == 0).all()


def test_one_step_has_one_entry(path):
    predicted = torch.full((1, 1, 3), 0.5, requires_grad=True)
    loss = fit_loss(predicted, torch.ones(1, 1, 3))
    loss.backward()
    assert loss == 0.25
    assert predicted.grad.tolist() == [[[0.0, -1.0, 0.0]]]
