"""Plans and imputation on rows are those of padded batches."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign import align
from mmalign.align.kernels.tiled import TOUCHED
from mmalign.imputers.mmalign import Fitter
from mmalign.model.hidden import Hidden
from mmalign.model.kernels.batches import rows_room, starts_of, to_hidden, to_rows
from mmalign.model.kernels.pairs import impute_rows, impute_rows_back, plan_room, plan_rows

DIM = 16
CLIPS = st.lists(st.tuples(st.integers(1, 24), st.integers(1, 24)), min_size=1, max_size=9)


def rows_of(head, steps, lengths):
    nowhere = np.zeros((steps.shape[1] + 1) * DIM, np.float32)
    return to_rows(head.numpy(), steps.numpy(), lengths.numpy(), nowhere, 0, DIM)


def padded(rows, starts):
    """[CLS] and steps as torch has them."""
    lengths = np.diff(starts) - 1
    head, steps = torch.empty(len(lengths), DIM), torch.empty(len(lengths), lengths.max(), DIM)
    to_hidden(rows, starts, DIM, head.numpy(), steps.numpy())
    return head, steps


@settings(max_examples=25)
@given(CLIPS, st.integers(0, 99))
def test_plans_and_imputed_steps_are_those_of_torch(clips, seed):
    torch.manual_seed(seed)
    lengths, goals = (torch.tensor(side) for side in zip(*clips, strict=True))
    window = max(align.smallest_window(*clip) for clip in clips)
    fitter, time = Fitter(DIM, window), int(lengths.max())
    inside = torch.arange(time) < lengths[:, None]
    steps = torch.randn(len(clips), time, DIM) * inside[..., None]
    hidden = Hidden(torch.randn(len(clips), DIM), steps.requires_grad_(), lengths)
    with torch.no_grad():
        expected = fitter(hidden, goals)
    x, starts = rows_of(hidden.head, steps.detach(), lengths)
    targets, line = starts_of(goals.numpy()), -(-(2 * window + 1) // 16) * 16
    plans = np.full(rows_room(starts, line), np.nan, np.float32)
    space = np.empty(plan_room(starts, DIM), np.float32)
    plan_rows(x, starts, targets, DIM, window, fitter.packed(), space, plans)
    for clip, (start, length) in enumerate(zip(starts, lengths, strict=False)):
        own = plans.reshape(-1, line)[start + 1 : start + 1 + length]
        np.testing.assert_allclose(
            own[:, : 2 * window + 1], expected[clip, :length].numpy(), atol=1e-5
        )
        assert (own[:, 2 * window + 1 :] == 0).all()
    sides = {"source_lengths": lengths, "target_lengths": goals}
    imputed = align.impute(expected, steps, **sides)
    cls, totals = np.arange(DIM, dtype=np.float32), np.empty(targets[-1], np.float32)
    out = np.full(rows_room(targets, DIM), np.nan, np.float32)
    impute_rows(x, starts, targets, plans, window, cls, DIM, totals, out)
    heads, found = padded(out, targets)
    np.testing.assert_array_equal(heads, np.tile(cls, (len(clips), 1)))
    np.testing.assert_allclose(found, imputed.detach().numpy(), atol=2e-5)
    slopes = (
        torch.randn_like(imputed) * (torch.arange(imputed.shape[1]) < goals[:, None])[..., None]
    )
    (to_steps,) = torch.autograd.grad((imputed * slopes).sum(), steps)
    sloped, _ = rows_of(torch.randn(len(clips), DIM), slopes, goals)
    to_x = np.zeros(rows_room(starts, DIM), np.float32)
    impute_rows_back(sloped, starts, targets, plans, window, DIM, totals, to_x)
    np.testing.assert_allclose(padded(to_x, starts)[1], to_steps.numpy(), atol=5e-5)


def test_a_column_without_mass_is_nothing_and_passes_nothing():
    starts, targets = starts_of(np.array([2])), starts_of(np.array([2]))
    x = np.ones(rows_room(starts, DIM), np.float32)
    plans = np.zeros(rows_room(starts, 16), np.float32)
    plans[16 + 1] = 1.0  # the first step goes to the first column; the second goes nowhere
    cls, totals = np.zeros(DIM, np.float32), np.empty(targets[-1], np.float32)
    out = np.empty(rows_room(targets, DIM), np.float32)
    impute_rows(x, starts, targets, plans, 1, cls, DIM, totals, out)
    assert out.reshape(-1, DIM)[:3, 0].tolist() == [0.0, 1.0, 0.0]
    to_x = np.zeros_like(x)
    impute_rows_back(np.ones_like(out), starts, targets, plans, 1, DIM, totals, to_x)
    assert to_x.reshape(-1, DIM)[:3, 0].tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("count", [1, 40])
def test_rows_beyond_the_last_are_only_touched(count):
    starts = starts_of(np.full(count, 3))
    assert rows_room(starts, DIM) >= (starts[-1] + TOUCHED) * DIM
