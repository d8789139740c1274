"""The windowed cosine cost."""

import numpy as np
import torch
from align_oracle import dense_cost, draw_problems
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.align import to_dense, windowed_cosine_cost


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
