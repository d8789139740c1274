"""A plan is shown in a line."""

import torch

from mmalign.align import solve


def test_plans_are_shown_in_a_line():
    source, target = torch.ones(2, 6, 3), torch.ones(2, 5, 3)
    one = solve(source[0], target[0], window=2, epsilon=0.1)
    assert repr(one) == "BandPlan(1 plan, 6 to 5 steps, window 2, 1 of 1 converged)"
    two = solve(source, target, window=2, epsilon=0.1)
    assert repr(two) == "BandPlan(2 plans, 6 steps, window 2, 2 of 2 converged)"
