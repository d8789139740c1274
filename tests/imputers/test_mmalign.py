"""The alignment dynamics learner: its fitter, its plan, its imputation."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign import align
from mmalign.imputers import AlignmentDynamicsLearner, UniformWindow, ZeroFill
from mmalign.imputers.mmalign import Fitter, turn_around
from mmalign.model.adamw import AdamW
from mmalign.model.hidden import Hidden

DIM = 6


def hidden(lengths: list[int], seed: int = 0) -> Hidden:
    torch.manual_seed(seed)
    counts = torch.tensor(lengths)
    steps = torch.randn(len(lengths), max(lengths), DIM, dtype=torch.float64)
    inside = torch.arange(max(lengths)) < counts[:, None]
    return Hidden(torch.randn(len(lengths), DIM).double(), steps * inside[..., None], counts)


LENGTHS = st.lists(st.integers(1, 12), min_size=1, max_size=4)


def make_learner(window: int = 3) -> AlignmentDynamicsLearner:
    torch.manual_seed(0)
    return AlignmentDynamicsLearner(DIM, window=window, epsilon=0.1).double()


@settings(max_examples=25)
@given(LENGTHS, st.integers(1, 5))
def test_predicted_rows_sum_to_one_inside_the_sequence(lengths, window):
    learner = make_learner(window)
    source = hidden(lengths)
    plan = learner.predicted_plan(source, source.lengths)
    inside = align.is_inside(source.lengths, window=window)
    assert (plan[~inside] == 0).all()
    rows = torch.arange(max(lengths)) < source.lengths[:, None]
    torch.testing.assert_close(plan.sum(-1)[rows], torch.ones(int(rows.sum())).double())


@settings(max_examples=20)
@given(LENGTHS)
def test_the_fitter_equals_a_packed_bidirectional_gru(lengths):
    torch.manual_seed(0)
    fitter = Fitter(DIM, 2).double()
    oracle = torch.nn.GRU(DIM, DIM, batch_first=True, bidirectional=True).double()
    with torch.no_grad():
        for name, parameter in fitter.forward_gru.named_parameters():
            getattr(oracle, name).copy_(parameter)
        for name, parameter in fitter.backward_gru.named_parameters():
            getattr(oracle, name + "_reverse").copy_(parameter)
    source = hidden(lengths)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        source.steps, source.lengths, batch_first=True, enforce_sorted=False
    )
    states, _ = torch.nn.utils.rnn.pad_packed_sequence(oracle(packed)[0], batch_first=True)
    inside = align.is_inside(source.lengths, window=2)
    expected = align.band_softmax(fitter.project(states), inside)
    torch.testing.assert_close(fitter(source, source.lengths), expected, atol=1e-12, rtol=0)


def test_turning_around_twice_changes_nothing():
    source = hidden([4, 1, 7])
    once = turn_around(source.steps, source.lengths)
    assert torch.equal(once[0, 0], source.steps[0, 3])
    assert torch.equal(turn_around(once, source.lengths), source.steps)


def test_imputation_passes_gradient_to_the_source_side_only():
    learner = make_learner()
    source = hidden([5, 3])
    source.steps.requires_grad_()
    learner.impute(source, source.lengths).sum().backward()
    assert source.steps.grad.abs().sum() > 0
    assert all(p.grad is None for p in learner.parameters())


def test_fitting_brings_the_predicted_plan_to_the_solver_s():
    learner = make_learner()
    source, target = hidden([8, 6], seed=1), hidden([8, 6], seed=2)
    optimizer = torch.optim.Adam(learner.parameters(), lr=0.02)
    first = learner.fit_loss(source, target).item()
    for _ in range(150):
        optimizer.zero_grad()
        loss = learner.fit_loss(source, target)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.02 * first


def test_unequal_lengths_use_the_slanted_band():
    learner = make_learner()
    source, target = hidden([9, 4], seed=1), hidden([5, 7], seed=2)
    assert torch.isfinite(learner.fit_loss(source, target))
    imputed = learner.impute(source, target.lengths)
    assert imputed.shape == (2, 7, DIM)
    assert (imputed[0, 5:] == 0).all()


def test_the_floors():
    source = hidden([5, 3])
    assert (ZeroFill().impute(source, source.lengths) == 0).all()
    spread = UniformWindow(1).impute(source, source.lengths)
    expected = (source.steps[1, 0] / 2 + source.steps[1, 1] / 3) / (1 / 2 + 1 / 3)
    torch.testing.assert_close(spread[1, 0], expected)


@settings(max_examples=20, deadline=None)
@given(LENGTHS, LENGTHS, st.integers(1, 5))
def test_the_compiled_plan_is_the_fitter_s(lengths, others, window):
    fitter = make_learner(window).float().fitter
    given_double = hidden(lengths)
    source = Hidden(given_double.head.float(), given_double.steps.float(), given_double.lengths)
    targets = torch.tensor([others[row % len(others)] for row in range(len(lengths))])
    found, expected = fitter.compiled_plan(source, targets), fitter(source, targets)
    torch.testing.assert_close(found, expected.detach(), atol=1e-5, rtol=0)
    assert fitter.double().compiled_plan(given_double, targets) is None


def test_the_compiled_plan_follows_the_optimizer():
    torch.manual_seed(0)
    fitter, lengths = Fitter(8, 2), torch.tensor([6, 4])
    source = Hidden(torch.zeros(2, 8), torch.randn(2, 6, 8), lengths)
    before = fitter.compiled_plan(source, lengths)
    optimizer = AdamW(fitter.parameters(), rate=0.1, weight_decay=0.0)
    fitter(source, lengths)[:, :, 0].sum().backward()
    optimizer.step()
    after = fitter.compiled_plan(source, lengths)
    assert (after - before).abs().max() > 1e-3
    torch.testing.assert_close(after, fitter(source, lengths).detach(), atol=1e-5, rtol=0)


def test_weights_that_change_are_packed_again():
    fitter = make_learner().float().fitter
    before = fitter.packed()
    assert fitter.packed() is before
    with torch.no_grad():
        fitter.project.bias.add_(1.0)
    assert (fitter.packed() != before).any()


def test_a_compiled_learner_imputes_alike_and_passes_slopes_to_the_source():
    answers = []
    for is_compiled in (False, True):
        torch.manual_seed(0)
        learner = AlignmentDynamicsLearner(DIM, window=3, epsilon=0.1, is_compiled=is_compiled)
        known = hidden([5, 2, 7])
        steps = known.steps.float().requires_grad_()
        source = Hidden(known.head.float(), steps, known.lengths)
        imputed = learner.impute(source, torch.tensor([4, 3, 7]))
        imputed.square().sum().backward()
        answers.append((imputed.detach(), steps.grad))
    torch.testing.assert_close(answers[1], answers[0], atol=1e-5, rtol=1e-4)
