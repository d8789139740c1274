"""Newton's constants have one home, and both paths go by them."""

import pytest
import torch
from align_oracle import draw_problems

from mmalign.align import newton_rule, solve, solver


def draw(seed=0):
    source, target = torch.randn(
        2, 6, 40, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    target[::2] = -source[::2]
    return source, target


LENGTHS = {
    "equal": (torch.tensor([40, 31, 22, 17, 9, 38]),) * 2,
    "unequal": (torch.tensor([40, 31, 22, 17, 9, 38]), torch.tensor([39, 33, 22, 15, 8, 40])),
}


def solve_twice(*sides, **options):
    """The compiled answer and the portable one."""
    with pytest.MonkeyPatch.context() as patch:
        compiled = solve(*sides, **options)
        patch.setattr(solver, "kernels", lambda name: None)
        return compiled, solve(*sides, **options)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("epsilon", [0.2, 0.03])
@pytest.mark.parametrize(("warm_up", "steps", "halvings"), [(5, 1, 40), (5, 200, 0), (2, 2, 40)])
def test_both_paths_stop_where_the_rule_says(
    monkeypatch, warm_up, steps, halvings, epsilon, lengths
):
    """Steps run out before the tolerance is reached; without halvings no step is ever tried."""
    for name, value in {"WARM_UP": warm_up, "STEPS": steps, "HALVINGS": halvings}.items():
        monkeypatch.setattr(newton_rule, name, value)
    compiled, portable = solve_twice(
        *draw(),
        window=3,
        epsilon=epsilon,
        tolerance=1e-14,
        source_lengths=lengths[0],
        target_lengths=lengths[1],
    )
    assert torch.equal(compiled.iterations, portable.iterations)
    if epsilon >= newton_rule.ANNEAL_FROM or not halvings:
        assert (compiled.iterations == warm_up + (steps if halvings else 0)).all()
        assert not compiled.converged.any()
        torch.testing.assert_close(compiled.mass, portable.mass, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_both_paths_agree_on_hard_problems(seed):
    """Small epsilons, narrow windows, opposite and repeated steps."""
    problems = draw_problems(seed, batch=12, epsilons=(0.004, 0.02))
    compiled, portable = solve_twice(
        problems.source, problems.target, tolerance=1e-12, **problems.arguments
    )
    assert compiled.converged.all()
    assert portable.converged.all()
    assert (compiled.mass - portable.mass).abs().max() <= 1e-9
    assert (compiled.iterations - portable.iterations).abs().max() <= 1


def test_an_epsilon_is_reached_by_halving_larger_ones():
    assert newton_rule.schedule(0.1) == [0.1]
    assert newton_rule.schedule(0.02) == [0.1, 0.05, 0.025, 0.02, 0.02]


def test_the_numbers_of_the_rule_are_those_that_results_were_made_with():
    assert newton_rule.effort() == (5, 200, 40)
    assert (newton_rule.LONGEST, newton_rule.SUFFICIENT) == (40.0, 0.2)
    assert (newton_rule.CLOSE, newton_rule.ROUNDING) == (1e-4, 1e-9)
    assert (newton_rule.ANNEAL_FROM, newton_rule.ANNEAL_UNTIL) == (0.1, 1e-2)


@pytest.mark.parametrize(
    ("change", "error", "trial", "expected"),
    [
        (-0.2, 1.0, 1.0, True),  # just the share that it must keep: 0.2 x 0.5 x 2
        (-0.1999, 1.0, 0.4, False),  # less, far from the answer
        (0.0, 0.9e-4, 0.45e-4, True),  # close to it, where the error halves
        (0.0, 0.9e-4, 0.46e-4, False),
        (0.0, 1e-4, 0.0, False),  # not yet close
    ],
)
def test_a_step_must_lower_the_dual_or_close_by_halve_the_error(change, error, trial, expected):
    assert newton_rule.is_long_enough(change, 0.5, -2.0, error, trial) is expected


@pytest.mark.parametrize(
    ("error", "trial", "expected"),
    [
        (0.9e-9, 0.9e-9, True),
        (0.9e-9, 0.8e-9, False),  # it still falls
        (1e-9, 2e-9, False),  # not yet as small as rounding
    ],
)
def test_a_small_error_that_does_not_fall_is_rounding(error, trial, expected):
    assert newton_rule.is_lost_in_rounding(error, trial) is expected
