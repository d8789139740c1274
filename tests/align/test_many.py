"""Thousands of problems at once: what must hold of every plan, at any epsilon, window and scale."""

import math

import pytest
import torch

from mmalign.align import impute, solve
from mmalign.align.band import is_inside
from mmalign.align.checks import smallest_window
from mmalign.errors import AlignmentError

CLIPS = 200
SETTINGS = [
    (epsilon, window, scale)
    for epsilon in (1e-4, 1e-2, 0.1, 1.0, 1e4)
    for window, scale in ((1, 1.0), (2, 1e-30), (3, 1e30), (8, 1e-3), (20, 1e3))
]


def problems(seed: int, window: int, scale: float, dtype: torch.dtype) -> tuple:
    """Sequences of random lengths that the window can align; some steps are zero or repeated."""
    chance = torch.Generator().manual_seed(seed)
    rows = torch.randint(1, 13, (CLIPS,), generator=chance)
    columns = torch.randint(1, 13, (CLIPS,), generator=chance)
    for clip, (n, m) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        if smallest_window(n, m) > window:
            columns[clip] = n
    shape = (CLIPS, int(max(rows.max(), columns.max())), 3)
    source, target = (scale * torch.randn(shape, generator=chance, dtype=dtype) for _ in range(2))
    source[::7, ::2] = 0.0
    target[::5] = target[::5, :1]
    target[::11] = source[::11]
    return source, target, rows, columns


def check(seed: int, epsilon: float, window: int, scale: float, dtype: torch.dtype) -> int:
    """Check every plan of a batch; returns how many there are."""
    source, target, rows, columns = problems(seed, window, scale, dtype)
    lengths = {"source_lengths": rows, "target_lengths": columns}
    plan = solve(source, target, window=window, epsilon=epsilon, **lengths)
    inside = is_inside(rows, columns, window=window, time=source.shape[1])
    assert torch.isfinite(plan.mass).all()
    assert (plan.mass >= 0).all()
    assert (plan.mass[~inside] == 0).all()
    is_row = torch.arange(source.shape[1]) < rows[:, None]
    error = (plan.mass.double().sum(-1) - 1.0).masked_fill(~is_row, 0.0).abs().amax(-1)
    allowed = 1e-5 if dtype == torch.float32 else 1e-6
    assert (error[plan.converged] <= allowed).all()
    assert (plan.marginal_error[~plan.converged] > 0).all()
    imputed = impute(plan.mass, source, **lengths)
    most = source.abs().amax((1, 2))
    assert (imputed.abs().amax((1, 2)) <= most * (1 + 1e-5)).all()
    assert math.isfinite(float(imputed.abs().max()))
    return CLIPS


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_five_thousand_plans_keep_their_promises(dtype, record_property):
    cases = sum(check(0, *setting, dtype=dtype) for setting in SETTINGS)
    record_property("figure", f"{cases} plans")
    assert cases >= 5000


@pytest.mark.parametrize(
    ("epsilon", "scale"),
    [(1e-100, 1e-150), (1e-12, 1e150), (1e-12, 1e-150), (1e12, 1e-150), (1e300, 1e150)],
)
def test_float64_keeps_its_promises_at_the_ends_of_its_range(epsilon, scale):
    check(0, epsilon, 3, scale, torch.float64)


def test_an_epsilon_beside_which_costs_overflow_is_refused():
    """At 1e-300 plans were NaN, and said to be converged."""
    steps = torch.ones(1, 2, 2)
    with pytest.raises(AlignmentError, match="at least 1e-100, got 1e-300"):
        solve(steps, steps, window=1, epsilon=1e-300)


@pytest.mark.nightly
def test_two_hundred_thousand_plans_keep_their_promises(record_property):
    cases = sum(
        check(seed, *setting, dtype=dtype)
        for seed in range(1, 21)
        for setting in SETTINGS
        for dtype in (torch.float32, torch.float64)
    )
    record_property("figure", f"{cases} plans")
    assert cases >= 200_000
