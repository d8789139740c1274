"""Agreement with POT, the reference for optimal transport (it is slow to import: one file only)."""

import numpy as np
import ot
import pytest
import torch
from align_oracle import dense_cost, draw_problems, log_scalings
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.align import solve

BARRIER = 1e6
settings.register_profile("align", deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def pot_plan(source, target, *, window, epsilon, start=None, iterations=100):
    cost = np.minimum(dense_cost(source, target, window), BARRIER)
    n, m = cost.shape
    plan, log = ot.bregman.sinkhorn_log(
        np.ones(n),
        np.full(m, n / m),
        cost,
        epsilon,
        numItermax=iterations,
        stopThr=1e-12,
        warmstart=start,
        log=True,
        warn=False,
    )
    return plan, log["err"][-1]


@settings(settings.get_profile("align"), max_examples=42)
@given(seed=seeds)
def test_two_thousand_plans_are_pots_plans(seed):
    """42 x 50 cases. POT is started from the potentials that explain our plan, or it would take
    hours at small epsilon: it stays where it is only if that is its answer too."""
    problems = draw_problems(seed)
    answer = solve(problems.source, problems.target, tolerance=1e-13, **problems.arguments)
    assert answer.converged.all()
    assert answer.marginal_error.max() <= 1e-12
    for plan, (source, target) in zip(answer.dense().numpy(), problems.clips(), strict=True):
        plan = plan[: len(source), : len(target)]
        cost = dense_cost(source, target, problems.window)
        assert (plan[np.isinf(cost)] == 0.0).all()
        rows, columns, is_connected = log_scalings(plan, cost, problems.epsilon)
        if not is_connected:  # a band of separate blocks: any offset between them will do
            columns = None
        start = (rows, np.zeros(len(target)) if columns is None else columns)
        expected, error = pot_plan(
            source, target, window=problems.window, epsilon=problems.epsilon, start=start
        )
        assert error <= 1e-9
        assert abs(plan - expected).max() <= 1e-10


@settings(settings.get_profile("align"), max_examples=8)
@given(seed=seeds)
def test_plans_are_pots_plans_from_a_cold_start(seed):
    problems = draw_problems(seed, batch=6, longest=24, epsilons=(0.3, 5.0))
    answer = solve(problems.source, problems.target, tolerance=1e-13, **problems.arguments)
    for plan, (source, target) in zip(answer.dense().numpy(), problems.clips(), strict=True):
        expected, error = pot_plan(
            source, target, window=problems.window, epsilon=problems.epsilon, iterations=20_000
        )
        assert error <= 1e-11
        assert abs(plan[: len(source), : len(target)] - expected).max() <= 1e-10


def test_fixed_iterations_are_pots_iterations(path):
    """POT updates columns first, so it gets the transposed problem."""
    generator = torch.Generator().manual_seed(0)
    source, target = torch.randn(2, 20, 6, generator=generator, dtype=torch.float64)
    plan = solve(source, target, window=4, epsilon=0.2, iterations=10)
    cost = np.minimum(dense_cost(source.numpy(), target.numpy(), 4), BARRIER)
    expected = ot.bregman.sinkhorn_log(
        np.ones(20), np.ones(20), cost.T, 0.2, numItermax=10, stopThr=0, warn=False
    ).T
    assert abs(plan.dense().numpy() - expected).max() <= 1e-12
    assert plan.iterations == 10


@pytest.mark.parametrize("seed", range(4))
def test_cost_falls_to_the_exact_one_from_above_as_epsilon_vanishes(seed):
    generator = torch.Generator().manual_seed(seed)
    source, target = torch.randn(2, 40, 5, generator=generator, dtype=torch.float64)
    cost = dense_cost(source.numpy(), target.numpy(), 4)
    exact = ot.emd2(np.ones(40), np.ones(40), np.minimum(cost, BARRIER)) / 40
    gaps = []
    for epsilon in (0.2, 0.05, 0.01, 0.002, 0.001):
        plan = solve(source, target, window=4, epsilon=epsilon, tolerance=1e-12)
        assert plan.converged
        dense = plan.dense().numpy()
        gap = (dense * np.where(dense > 0, cost, 0.0)).sum() / 40 - exact
        assert -1e-12 <= gap <= epsilon * np.log(2 * 4 + 1)
        gaps.append(gap)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 1e-3
