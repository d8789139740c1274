"""Properties of plans that need no oracle."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from align_oracle import draw_problems
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.align import is_inside, solve
from mmalign.errors import AlignmentError

settings.register_profile("align", deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def marginals(plan):
    dense = plan.dense().double()
    target = (plan.source_lengths.double() / plan.target_lengths)[:, None]
    return dense.sum(2), dense.sum(1) / target


@settings(settings.get_profile("align"), max_examples=25)
@given(seed=seeds)
def test_marginals_and_support(seed):
    for dtype, bound in ((torch.float64, 1e-12), (torch.float32, 1e-6)):
        problems = draw_problems(seed, batch=12, dtype=dtype)
        plan = solve(problems.source, problems.target, tolerance=bound / 2, **problems.arguments)
        assert plan.converged.all()
        rows, columns = marginals(plan)
        is_row = torch.arange(rows.shape[1]) < plan.source_lengths[:, None]
        is_column = torch.arange(columns.shape[1]) < plan.target_lengths[:, None]
        assert (rows[is_row] - 1).abs().max() <= bound
        assert (columns[is_column] - 1).abs().max() <= bound
        inside = is_inside(
            plan.source_lengths,
            plan.target_lengths,
            window=problems.window,
            time=problems.source.shape[1],
        )
        assert (plan.mass[~inside] == 0).all()
        assert (plan.mass >= 0).all()


@settings(settings.get_profile("align"), max_examples=20)
@given(seed=seeds)
def test_swapping_the_sequences_transposes_the_plan(seed):
    """For equal lengths: the radius of a slanted band is counted in target steps."""
    problems = draw_problems(seed, batch=8, epsilons=(0.03, 5.0))
    lengths = problems.source_lengths
    source = torch.nan_to_num(problems.source)
    target = torch.nan_to_num(problems.target)
    options = {"window": problems.window, "epsilon": problems.epsilon, "tolerance": 1e-13}
    plan = solve(source, target, source_lengths=lengths, target_lengths=lengths, **options)
    swapped = solve(target, source, source_lengths=lengths, target_lengths=lengths, **options)
    longest = int(lengths.max())
    gap = plan.dense()[:, :longest] - swapped.dense()[:, :longest].mT
    assert gap.abs().max() <= 1e-12


@settings(settings.get_profile("align"), max_examples=20)
@given(seed=seeds)
def test_reversing_time_reverses_the_plan(seed):
    problems = draw_problems(seed, batch=6, epsilons=(0.03, 5.0))
    options = {"window": problems.window, "epsilon": problems.epsilon, "tolerance": 1e-13}
    for source, target in problems.clips():
        forward = solve(source, target, **options).dense()
        backward = solve(source[::-1].copy(), target[::-1].copy(), **options).dense()
        assert (forward - backward.flip(0, 1)).abs().max() <= 1e-12


def test_batch_mates_padding_and_position_never_change_a_bit():
    problems = draw_problems(5, batch=33)
    options = {"window": problems.window, "epsilon": problems.epsilon, "tolerance": 1e-12}
    together = solve(
        problems.source,
        problems.target,
        source_lengths=problems.source_lengths,
        target_lengths=problems.target_lengths,
        **options,
    )
    order = torch.randperm(33, generator=torch.Generator().manual_seed(0))
    padding = torch.full((33, 64, problems.source.shape[2]), torch.inf, dtype=torch.float64)
    permuted = solve(
        torch.cat([problems.source, padding], dim=1)[order],
        torch.cat([problems.target, -padding], dim=1)[order],
        source_lengths=problems.source_lengths[order],
        target_lengths=problems.target_lengths[order],
        **options,
    )
    assert torch.equal(permuted.mass[:, :60], together.mass[order])
    assert torch.equal(permuted.iterations, together.iterations[order])
    for clip, (source, target) in enumerate(problems.clips()):
        alone = solve(source, target, **options)
        assert torch.equal(alone.mass, together.mass[clip, : len(source)])


@pytest.mark.parametrize("window", [1, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_clips_of_a_group_do_not_change_a_bit_of_each_other(window, dtype):
    """Easy, hard and long clips in lock-step: each must stop where it would stop alone."""
    source, target = draw(2, 19, 120, 5, dtype=dtype)
    target[::3] = source[::3]
    target[1::3] = -source[1::3]
    lengths = torch.randint(1, 121, (19,), generator=torch.Generator().manual_seed(0))
    options = {"window": window, "epsilon": 0.1, "tolerance": 1e-12}
    together = solve(source, target, source_lengths=lengths, target_lengths=lengths, **options)
    assert together.converged.all()
    for clip, n in enumerate(lengths.tolist()):
        alone = solve(source[clip, :n], target[clip, :n], **options)
        assert torch.equal(alone.mass, together.mass[clip, :n])
        assert torch.equal(alone.iterations, together.iterations[clip])
        assert (together.mass[clip, n:] == 0).all()


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 5.0])
def test_clips_in_a_group_and_clips_alone_get_one_answer(monkeypatch, epsilon):
    from mmalign.align.kernels import solve as kernels

    problems = draw_problems(11, batch=20)
    arguments = problems.arguments | {"epsilon": epsilon, "tolerance": 1e-13}
    grouped = solve(problems.source, problems.target, **arguments)
    monkeypatch.setattr(kernels, "groupable", lambda *_: np.empty(0, np.int64))
    alone = solve(problems.source, problems.target, **arguments)
    assert grouped.converged.all()
    assert (grouped.mass - alone.mass).abs().max() <= 1e-11


def test_the_first_bad_clip_is_named_whatever_the_order_of_work():
    source, target = draw(2, 12, 30, 4)
    lengths = torch.arange(8, 20)
    target[[3, 11], 2] = torch.nan
    source[7, 1] = torch.inf
    with pytest.raises(AlignmentError, match="the target of clip 3 holds NaN"):
        solve(source, target, source_lengths=lengths, target_lengths=lengths)


@pytest.mark.parametrize("epsilon", [0.4, 0.02])
def test_batch_mates_do_not_matter_on_the_portable_path(portable, epsilon):
    problems = replace(draw_problems(7, batch=9), epsilon=epsilon)
    options = {"window": problems.window, "epsilon": epsilon, "tolerance": 1e-12}
    together = solve(problems.source, problems.target, **problems.arguments, tolerance=1e-12)
    assert (together.mass.sum((1, 2)) - problems.source_lengths).abs().max() <= 1e-9
    for clip, (source, target) in enumerate(problems.clips()):
        alone = solve(source, target, **options)
        gap = alone.mass - together.mass[clip, : len(source)]
        assert gap.abs().max() <= 1e-12
        assert (alone.iterations - together.iterations[clip]).abs() <= 1


@settings(settings.get_profile("align"), max_examples=6)
@given(seed=seeds)
def test_the_two_paths_agree(seed):
    from mmalign.align import solver

    problems = draw_problems(seed, batch=10)
    answers = []
    with pytest.MonkeyPatch.context() as patch:
        for _ in range(2):
            answers.append(
                solve(problems.source, problems.target, tolerance=1e-13, **problems.arguments)
            )
            patch.setattr(solver, "kernels", lambda name: None)
    compiled, portable = answers
    assert portable.converged.all()
    assert (compiled.mass - portable.mass).abs().max() <= 1e-11


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("iterations", [None, 10])
def test_no_epsilon_gives_nan_or_a_false_claim(path, dtype, iterations):
    source, target = draw(2, 4, 20, 6, dtype=dtype)
    target[1] = source[1].roll(3, 0)
    target[2] = -source[2]
    target[3, ::2] = 0
    for epsilon in (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e2, 1e4):
        plan = solve(source, target, window=4, epsilon=epsilon, iterations=iterations)
        assert plan.mass.isfinite().all()
        rows, columns = marginals(plan)
        error = torch.maximum((rows - 1).abs().amax(1), (columns - 1).abs().amax(1))
        assert torch.allclose(plan.marginal_error, error, rtol=1e-3, atol=1e-6)
        assert torch.equal(plan.converged, plan.marginal_error <= 1e-6)
        assert (error[plan.converged] <= 1.2e-6).all()
        if iterations is None and epsilon >= 1e-3:
            assert plan.converged.all()


def test_a_tolerance_below_rounding_is_clamped(path):
    source, target = draw(2, 2, 3, dtype=torch.float32)
    plan = solve(source, target, window=1, tolerance=1e-12)
    assert plan.converged
    assert plan.iterations < 50
    assert plan.marginal_error <= 1e-6


def test_too_few_iterations_do_not_pretend(path):
    source, target = draw(2, 200, 8)
    plan = solve(source, target, window=3, epsilon=0.05, iterations=3)
    assert not plan.converged
    assert plan.marginal_error > 1e-6


def test_a_hard_clip_does_not_move_an_easy_one():
    easy = draw(1, 30, 8)
    hard_source, hard_target = draw(2, 1, 30, 8, seed=1)
    alone = solve(easy, easy, epsilon=0.02, tolerance=1e-13)
    mixed = solve(
        torch.cat([easy, hard_source]),
        torch.cat([easy, hard_target]),
        epsilon=0.02,
        tolerance=1e-13,
    )
    assert torch.equal(alone.mass[0], mixed.mass[0])
    assert mixed.iterations[0] == alone.iterations[0]


def test_identity_is_aligned_with_itself(path):
    steps = draw(40, 32)
    mass = solve(steps, steps, window=2, epsilon=0.2).mass
    assert mass[:, 2].mean() >= 0.95


def test_a_known_shift_is_found(path):
    """Every nine steps are rolled by three: source step i is target step i + 3, or i - 6.

    A shift of the whole sequence is no plan: with rows and columns that sum to 1, as much mass
    crosses any moment backward as forward.
    """
    steps = draw(11, 9, 64)
    plan = solve(steps.flatten(0, 1), steps.roll(3, 1).flatten(0, 1), window=8, epsilon=0.05)
    lag = torch.tensor([3, 3, 3, 3, 3, 3, -6, -6, -6]).repeat(11)
    assert torch.equal(plan.mass.argmax(-1) - plan.window, lag)
    assert plan.mass.gather(1, (lag + plan.window)[:, None]).sum() / 99 >= 0.99
    assert not torch.equal(plan.mass.argmax(-1) - plan.window, -lag)


def test_lengths_one_to_window(path):
    for length in (1, 2, 7, 8, 9):
        steps = draw(length, 4)
        plan = solve(steps, steps, window=8)
        assert plan.converged
        assert plan.mass.shape == (length, 17)
    assert solve(draw(1, 4), draw(1, 4), window=2).mass.tolist() == [[0, 0, 1, 0, 0]]


def test_a_hundred_thousand_steps():
    source, target = draw(2, 100_000, 8)
    plan = solve(source, target, epsilon=0.2, tolerance=1e-12)
    assert plan.converged
    assert plan.marginal_error <= 1e-12


def test_marginal_error_falls_linearly_in_log_scale():
    source, target = draw(2, 40, 16)
    counts = np.arange(10, 120, 10)
    errors = [
        float(solve(source, target, window=8, epsilon=0.2, iterations=int(k)).marginal_error)
        for k in counts
    ]
    fit = np.corrcoef(counts, np.log(errors))[0, 1]
    assert fit < 0
    assert fit**2 > 0.98


def test_extreme_scales_have_a_direction_too(path):
    steps = draw(12, 4, dtype=torch.float32)
    expected = solve(steps, steps.flip(0)).mass
    for scale in (1e-42, 1e-30, 1e30):
        scaled = (steps.double() * scale).float()
        if scale > 1e-38:
            assert torch.allclose(solve(scaled, steps.flip(0)).mass, expected, atol=1e-5)
        assert solve(scaled, steps.flip(0)).mass.isfinite().all()


def test_numpy_half_and_single_clips(path):
    source, target = draw(2, 9, 4)
    plan = solve(source, target, window=2)
    assert torch.equal(solve(source.numpy(), target.numpy(), window=2).mass, plan.mass)
    assert plan.mass.shape == (9, 5)
    assert plan.converged.shape == ()
    assert plan.dense().shape == (9, 9)
    half = solve(source.half(), target.half(), window=2)
    assert half.mass.dtype == torch.float32
    batch = solve(source[None], target[None], window=2, source_lengths=[9], target_lengths=[9])
    assert torch.equal(batch.mass[0], plan.mass)


def test_non_contiguous_tensors_are_understood(path):
    wide = draw(4, 10, 20)
    source, target = wide[..., ::2], wide.flip(1)[..., 1::2]
    plan = solve(source, target, window=3)
    assert torch.equal(plan.mass, solve(source.contiguous(), target.contiguous(), window=3).mass)


def test_nothing_is_differentiated_through(path):
    source = draw(2, 9, 4).requires_grad_()
    assert not solve(source, source, window=2).mass.requires_grad


GOOD = draw(2, 5, 3)
BAD_CALLS = {
    "window must be >= 1, got 0": {"window": 0},
    "epsilon must be a positive number, got 0": {"epsilon": 0.0},
    "epsilon must be a positive number, got -1": {"epsilon": -1.0},
    "epsilon must be a positive number, got nan": {"epsilon": float("nan")},
    "tolerance must be a positive number": {"tolerance": 0.0},
    "iterations must be >= 1": {"iterations": 0},
    "clip 1 has source length 0; expected 1..5": {"source_lengths": torch.tensor([5, 0])},
    "clip 0 has target length 6; expected 1..5": {"target_lengths": torch.tensor([6, 5])},
    "expected 2 source lengths": {"source_lengths": torch.tensor([5])},
    "same batch and dim": {"target": GOOD[:1]},
    "project both sequences": {"target": GOOD[..., :2]},
    "nothing to align": {"target": GOOD[:, :0]},
    "must be floats of shape": {"source": GOOD[None]},
    "the target of clip 1 holds NaN": {"target": GOOD.index_fill(0, torch.tensor(1), torch.nan)},
    "the source of clip 0 holds NaN": {"source": GOOD.index_fill(0, torch.tensor(0), torch.inf)},
    "the source of clip 1 holds NaN": {"source": GOOD.index_fill(0, torch.tensor(1), torch.inf)},
    "the target of clip 0 holds NaN": {"target": GOOD.index_fill(0, torch.tensor(0), torch.nan)},
}


@pytest.mark.parametrize("message", BAD_CALLS)
def test_bad_input_raises_one_clear_error(path, message):
    call = {"source": GOOD, "target": GOOD, "window": 2} | BAD_CALLS[message]
    source, target = call.pop("source"), call.pop("target")
    with pytest.raises(AlignmentError, match=message.replace("[", r"\[")):
        solve(source, target, **call)


def test_what_is_left_out_is_what_the_paper_chose():
    source, target = draw(2, 30, 4)
    paper = solve(source, target, window=8, epsilon=0.1, tolerance=1e-6)
    assert torch.equal(solve(source, target).mass, paper.mass)


def test_a_plan_whose_error_is_the_tolerance_has_converged(path):
    source, target = draw(2, 40, 8)
    rough = solve(source, target, window=3, iterations=3)
    error = float(rough.marginal_error)
    assert solve(source, target, window=3, iterations=3, tolerance=error).converged
    below = math.nextafter(error, 0.0)
    assert not solve(source, target, window=3, iterations=3, tolerance=below).converged


@pytest.mark.parametrize(("rows", "columns"), [(10, 3), (3, 10), (10, 10)])
@pytest.mark.parametrize("dim", [1, 99])
def test_the_widest_window_depends_on_the_longer_sequence_alone(rows, columns, dim):
    source, target = draw(rows, dim), draw(columns, dim)
    assert solve(source, target, window=104).window == 104
    with pytest.raises(AlignmentError, match="at most 104 for sequences of 10 steps"):
        solve(source, target, window=105)


@pytest.mark.parametrize("dim", [3, 5, 6])
def test_target_lengths_left_out_are_the_sources_or_all(dim):
    """Those of the source where both are padded to one time, and all steps elsewhere."""
    source, target, lengths = draw(2, 5, dim), draw(2, 6, dim), torch.tensor([4, 5])
    same = solve(source, target[:, :5], source_lengths=lengths)
    assert same.target_lengths.tolist() == [4, 5]
    longer = solve(source, target, source_lengths=lengths)
    assert longer.target_lengths.tolist() == [6, 6]
    given = solve(source, target, source_lengths=lengths, target_lengths=[2, 3])
    assert given.target_lengths.tolist() == [2, 3]
