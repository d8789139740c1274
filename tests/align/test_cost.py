"""The windowed cosine cost."""

import numpy as np
import torch
from align_oracle import dense_cost, draw_problems
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.align import to_dense, windowed_cosine_cost
from mmalign.align.cost import unit_steps


@settings(deadline=None, derandomize=True, max_examples=15)
@given(seed=st.integers(0, 2**32 - 1))
def test_cost_is_the_dense_cost_inside_the_band(seed):
    problems = draw_problems(seed, batch=8)
    n, m = problems.source_lengths, problems.target_lengths
    cost = windowed_cosine_cost(
        problems.source,
        problems.target,
        window=problems.window,
        source_lengths=n,
        target_lengths=m,
    )
    dense = to_dense(cost, source_lengths=n, target_lengths=m).numpy()
    for clip, (source, target) in enumerate(problems.clips()):
        expected = dense_cost(source, target, problems.window)
        found = dense[clip, : len(source), : len(target)]
        inside = np.isfinite(expected)
        assert abs(found[inside] - expected[inside]).max() <= 1e-14
        assert (found[~inside] == 0).all()


def test_a_zero_vector_costs_one():
    steps = torch.zeros(1, 3, 4)
    assert (windowed_cosine_cost(steps, steps + 1, window=1)[0, 1] == 1).all()


def test_gradients_are_finite_even_for_zero_vectors():
    steps = torch.randn(1, 4, 3, dtype=torch.float64)
    steps[0, 2] = 0
    steps.requires_grad_()
    windowed_cosine_cost(steps, steps.flip(1), window=2).sum().backward()
    assert steps.grad.isfinite().all()


def test_every_step_has_length_one_at_any_scale_and_padding_has_none():
    steps = torch.randn(2, 5, 3, dtype=torch.float64)
    scales = torch.tensor([1e-200, 1.0, 1e200, 0.0, torch.nan], dtype=torch.float64)
    units = unit_steps(steps * scales[:, None], torch.tensor([4, 2]))
    expected = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 0, 0, 0]]).double()
    assert torch.allclose(units.norm(dim=-1), expected, rtol=1e-14)
    directions = steps / steps.norm(dim=-1, keepdim=True)
    assert torch.allclose(units[0, :3], directions[0, :3], rtol=1e-14)


def test_the_window_is_the_papers_unless_another_is_given():
    steps = torch.randn(1, 20, 3)
    paper = windowed_cosine_cost(steps, steps.flip(1), window=8)
    assert torch.equal(windowed_cosine_cost(steps, steps.flip(1)), paper)
