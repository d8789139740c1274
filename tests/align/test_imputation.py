"""Imputation: direction, convexity, gradients."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.align import impute, is_inside, solve, to_dense
from mmalign.errors import AlignmentError

SOURCE_LENGTHS = torch.tensor([9, 1, 4, 6])
TARGET_LENGTHS = torch.tensor([9, 1, 7, 4])
WINDOW = 2


def draw_inputs(dim=3, *, lengths=SOURCE_LENGTHS, targets=TARGET_LENGTHS, time=9):
    generator = torch.Generator().manual_seed(0)
    inside = is_inside(lengths, targets, window=WINDOW, time=time)
    mass = torch.rand(inside.shape, generator=generator, dtype=torch.float64)
    source = torch.randn(len(lengths), time, dim, generator=generator, dtype=torch.float64)
    return mass * inside, source


def dense_impute(mass, source, lengths, targets):
    plan = to_dense(mass, source_lengths=lengths, target_lengths=targets)
    total = plan.sum(1)[..., None]
    return torch.where(total > 0, plan.mT @ source / total, 0.0)


@pytest.mark.parametrize("dim", [1, 3, 8, 16, 20, 33])
@pytest.mark.parametrize("targets", [TARGET_LENGTHS, SOURCE_LENGTHS])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_matches_dense_matrices(path, dim, targets, dtype):
    mass, source = draw_inputs(dim, targets=targets)
    expected = dense_impute(mass, source, SOURCE_LENGTHS, targets)
    found = impute(
        mass.to(dtype),
        source.to(dtype),
        source_lengths=SOURCE_LENGTHS,
        target_lengths=targets,
    )
    assert torch.allclose(found.double(), expected, atol=1e-6 if dtype == torch.float32 else 1e-14)


def test_shows_the_direction_of_the_equation(path):
    """Target steps are sums over rows (E7): a rolled sequence is imputed from the plain one."""
    generator = torch.Generator().manual_seed(0)
    steps = torch.randn(10, 9, 64, generator=generator)
    target = steps.roll(3, dims=1)  # target step j is source step j - 3
    plan = solve(steps, target, window=8, epsilon=0.05)
    assert torch.allclose(impute(plan.mass, steps), target, atol=0.02)
    # Had rows and columns been swapped, it would be rolled the other way.
    assert not torch.allclose(impute(plan.mass, steps), steps.roll(-3, dims=1), atol=1.0)


def test_is_a_convex_combination_and_padding_is_zero(path):
    mass, _ = draw_inputs()
    ones = torch.ones(4, 9, 1, dtype=torch.float64)
    imputed = impute(
        mass, ones, source_lengths=SOURCE_LENGTHS, target_lengths=TARGET_LENGTHS, target_time=12
    )
    is_step = torch.arange(12) < TARGET_LENGTHS[:, None]
    assert imputed.shape == (4, 12, 1)
    assert torch.allclose(imputed[is_step], torch.ones(()).double(), atol=1e-14)
    assert (imputed[~is_step] == 0).all()


def test_columns_without_mass_are_zero_and_pass_no_gradient(path):
    mass = torch.zeros(1, 3, 3, requires_grad=True)
    source = torch.randn(1, 3, 2, requires_grad=True)
    imputed = impute(mass, source)
    imputed.sum().backward()
    assert (imputed == 0).all()
    assert (mass.grad == 0).all()
    assert (source.grad == 0).all()


def test_neither_padding_nor_what_is_outside_matters(path):
    mass, source = draw_inputs()
    lengths = {"source_lengths": SOURCE_LENGTHS, "target_lengths": TARGET_LENGTHS}
    clean = [mass.clone().requires_grad_(), source.clone().requires_grad_()]
    inside = is_inside(SOURCE_LENGTHS, TARGET_LENGTHS, window=WINDOW, time=9)
    is_padding = torch.arange(9) >= SOURCE_LENGTHS[:, None]
    dirty = [
        mass.masked_fill(~inside, torch.nan).requires_grad_(),
        source.masked_fill(is_padding[..., None], torch.inf).requires_grad_(),
    ]
    answers = [impute(*pair, **lengths) for pair in (clean, dirty)]
    for answer in answers:
        answer.square().sum().backward()
    assert torch.equal(*answers)
    for tidy, rubbish in zip(clean, dirty, strict=True):
        assert torch.equal(tidy.grad, rubbish.grad)


@pytest.mark.parametrize("targets", [TARGET_LENGTHS, SOURCE_LENGTHS])
def test_gradcheck(path, targets):
    mass, source = draw_inputs(3 if path == "portable" else 17, targets=targets)
    source[0, 2] = 0

    def run(mass, source):
        return impute(mass, source, source_lengths=SOURCE_LENGTHS, target_lengths=targets)

    inputs = (mass.requires_grad_(), source.requires_grad_())
    # Entries outside are constants whose numerical gradient is 0 as well.
    assert torch.autograd.gradcheck(run, inputs, eps=1e-6, atol=1e-7)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), dim=st.integers(1, 40))
def test_no_gradient_is_nan(seed, dim):
    """25 clips an example, with zero vectors, empty columns and clips of one step."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 20, (25,), generator=generator)
    mass = torch.rand(25, 20, 5, generator=generator)
    mass = mass * (mass > 0.7)
    source = torch.randn(25, 20, dim, generator=generator)
    source = source * (torch.rand(25, 20, 1, generator=generator) > 0.3)
    inputs = (mass.requires_grad_(), source.requires_grad_())
    loss = impute(*inputs, source_lengths=lengths).square().sum()
    for gradient in torch.autograd.grad(loss, inputs):
        assert gradient.isfinite().all()


def test_bad_lengths_are_refused(path):
    mass, source = draw_inputs()
    with pytest.raises(AlignmentError, match="clip 2 has source length 0"):
        impute(mass, source, source_lengths=torch.tensor([9, 1, 0, 6]))
    with pytest.raises(AlignmentError, match=r"clip 0 has target length 9; expected 1\.\.8"):
        impute(mass, source, source_lengths=SOURCE_LENGTHS, target_time=8)


def test_the_answer_is_as_long_as_the_plan_or_as_the_longest_target(path):
    mass, source = draw_inputs()
    lengths, shorter = torch.tensor([7, 1, 4, 6]), torch.tensor([7, 1, 6, 4])
    assert impute(mass, source, source_lengths=lengths).shape == (4, 9, 3)
    both = {"source_lengths": lengths, "target_lengths": shorter}
    assert impute(mass, source, **both).shape == (4, 7, 3)
    assert impute(mass, source, **both, target_time=8).shape == (4, 8, 3)


def test_a_column_counts_from_the_smallest_normal_mass_on(path):
    tiny = torch.finfo(torch.float64).tiny
    for mass, expected in ((tiny, 3.0), (tiny / 2, 0.0)):
        plan = torch.tensor([[[0.0, mass, 0.0]]], dtype=torch.float64)
        assert impute(plan, torch.full((1, 1, 1), 3.0, dtype=torch.float64)).item() == expected


def test_there_may_be_more_clips_than_steps(path):
    mass, source = draw_inputs(lengths=torch.tensor([2, 1] * 20), targets=None, time=2)
    lengths = torch.tensor([2, 1] * 20)
    expected = dense_impute(mass, source, lengths, lengths)
    assert torch.allclose(impute(mass, source, source_lengths=lengths), expected, atol=1e-14)
