"""Where entries lie, and which windows have a plan at all."""

import numpy as np
import pytest
import torch
from align_oracle import dense_cost
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from mmalign.align import band_columns, is_inside, smallest_window, solve, to_dense
from mmalign.errors import AlignmentError

settings.register_profile("align", deadline=None, derandomize=True)
lengths = st.integers(1, 40)


@settings(settings.get_profile("align"), max_examples=200)
@given(n=lengths, m=lengths, window=st.integers(1, 12))
def test_a_row_owns_the_columns_within_the_window_of_its_centre(n, m, window):
    columns = band_columns(torch.tensor([n]), torch.tensor([m]), window=window, time=n + 2)[0]
    centre = (np.arange(n) + 0.5) * m / n - 0.5
    near = abs(np.arange(m) - centre[:, None]) <= window + 1e-9
    owned = np.zeros((n, m), dtype=bool)
    for i, row in enumerate(columns[:n].tolist()):
        owned[i, [j for j in row if j >= 0]] = True
    assert (owned == near).all()
    assert (columns[n:] == -1).all()
    if n == m:
        straight = torch.arange(n)[:, None] + torch.arange(2 * window + 1) - window
        is_real = columns[:n] >= 0
        assert torch.equal(columns[:n][is_real], straight[is_real])


@settings(settings.get_profile("align"), max_examples=100)
@given(n=lengths, m=lengths)
def test_the_smallest_window_is_feasible_and_the_next_smaller_is_not(n, m):
    window = smallest_window(n, m)
    assert window <= max(1, np.ceil((m / n + 1) / 2))  # E13's bound is enough
    assert is_feasible(n, m, window)
    if window > 1:
        assert not is_feasible(n, m, window - 1)


def is_feasible(n, m, window):
    """By linear programming, which knows nothing of bands."""
    allowed = np.isfinite(dense_cost(np.ones((n, 1)), np.ones((m, 1)), window))
    rows, columns = np.nonzero(allowed)
    sums = np.zeros((n + m, len(rows)))
    sums[rows, np.arange(len(rows))] = 1
    sums[n + columns, np.arange(len(rows))] = 1
    target = np.concatenate([np.ones(n), np.full(m, n / m)])
    return linprog(np.zeros(len(rows)), A_eq=sums, b_eq=target).status == 0


@settings(settings.get_profile("align"), max_examples=60)
@given(n=lengths, m=lengths)
def test_the_smallest_window_can_be_solved_and_the_next_smaller_is_refused(n, m):
    window = smallest_window(n, m)
    generator = torch.Generator().manual_seed(n * 100 + m)
    source = torch.randn(n, 4, generator=generator, dtype=torch.float64)
    target = torch.randn(m, 4, generator=generator, dtype=torch.float64)
    assert solve(source, target, window=window, tolerance=1e-12).converged
    if window > 1:
        with pytest.raises(AlignmentError, match=f"smallest window that works is {window}"):
            solve(source, target, window=window - 1)


def test_dense_round_trip_and_rubbish_outside():
    n, m = torch.tensor([4, 2]), torch.tensor([6, 3])
    inside = is_inside(n, m, window=2, time=5)
    band = torch.rand(inside.shape).masked_fill(~inside, torch.nan)
    dense = to_dense(band, source_lengths=n, target_lengths=m)
    assert dense.shape == (2, 5, 6)
    assert dense.isfinite().all()
    assert torch.isclose(dense.sum(), band[inside].sum())
    columns = band_columns(n, m, window=2, time=5)
    for clip, i, k in inside.nonzero().tolist():
        assert dense[clip, i, columns[clip, i, k]] == band[clip, i, k]


def test_a_plan_must_have_an_odd_width():
    with pytest.raises(AlignmentError, match="2 \\* window \\+ 1"):
        to_dense(torch.ones(1, 3, 4))
