"""What is refused begins where the message says, neither earlier nor later."""

import math

import pytest
import torch

from mmalign.align.checks import (
    check_effort,
    check_epsilon,
    check_lengths,
    check_reach,
    check_window,
    smallest_tolerance,
    smallest_window,
    window_of,
)
from mmalign.errors import AlignmentError

LIKE = torch.zeros(1)


def lengths(*values: int, **options) -> torch.Tensor:
    return torch.tensor(values, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 10), "window must be >= 1, got 0; the paper's default is 8"),
        ((True, 10), "window must be >= 1, got a bool;"),
        ((105, 10), "at most 104 for sequences of 10 steps, got 105; a window of 10 sees all"),
        (((1 << 26) + 65,), f"at most {(1 << 26) + 64} for sequences of {1 << 24} steps"),
        ((1 << 70, 10), "got a int;"),
        (((1 << 70) - 1, 10), f"got {(1 << 70) - 1};"),
        ((1 - (1 << 70), 10), f"got {1 - (1 << 70)};"),
    ],
)
def test_windows_that_are_refused(arguments, message):
    with pytest.raises(AlignmentError, match=message):
        check_window(*arguments)


def test_windows_that_just_fit():
    assert check_window(1, 10) == 1
    assert check_window(104, 10) == 104
    assert check_window((1 << 26) + 64) == (1 << 26) + 64


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        (0.99e-100, "epsilon must be at least 1e-100, got 9.9e-101"),
        (0.0, "epsilon must be a positive number, got 0.0; try 0.1"),
        (-1.0, "epsilon must be a positive number, got -1.0; try 0.1"),
        (math.inf, "epsilon must be a positive number, got inf"),
        (math.nan, "epsilon must be a positive number, got nan"),
        (True, "epsilon must be a positive number, got a bool"),
        (10**400, "epsilon must be a positive number, got a int"),
    ],
)
def test_epsilons_that_are_refused(epsilon, message):
    with pytest.raises(AlignmentError, match=message):
        check_epsilon(epsilon)


def test_epsilons_that_just_fit():
    assert check_epsilon(1e-100) == 1e-100
    assert check_epsilon(1e308) == 1e308
    assert isinstance(check_epsilon(1), float)


@pytest.mark.parametrize(
    ("tolerance", "iterations", "message"),
    [
        (0.0, None, "tolerance must be a positive number, got 0.0; try 1e-6"),
        (math.nan, 3, "tolerance must be a positive number, got nan"),
        (True, 3, "tolerance must be a positive number, got a bool"),
        (1e-6, 0, "iterations must be >= 1, got 0; leave it out to solve to the tolerance"),
        (1e-6, True, "iterations must be >= 1, got a bool"),
        (1e-6, 1 << 31, f"iterations must be >= 1, got {1 << 31}"),
    ],
)
def test_efforts_that_are_refused(tolerance, iterations, message):
    with pytest.raises(AlignmentError, match=message):
        check_effort(tolerance, iterations)


def test_efforts_that_just_fit():
    assert check_effort(1e-300, None) == (1e-300, None)
    assert check_effort(1, 1) == (1.0, 1)
    assert check_effort(0.5, (1 << 31) - 1) == (0.5, (1 << 31) - 1)


@pytest.mark.parametrize("width", [-1, 0, 1, 2, 4, 6])
def test_widths_that_no_window_has(width):
    with pytest.raises(AlignmentError, match=f">= 3, got {width}; the last axis of a plan"):
        window_of(width)


def test_widths_and_their_windows():
    assert [window_of(width) for width in (3, 5, 17)] == [1, 2, 8]


def test_lengths_that_are_not_given_are_filled_in():
    rows, columns = check_lengths(None, None, shape=(2, 3), like=LIKE)
    assert rows.tolist() == columns.tolist() == [3, 3]
    given = lengths(1, 3)
    assert check_lengths(given, None, shape=(2, 3), like=LIKE) == (given, given)
    other = lengths(9, 1)  # without a bound, whatever it is
    assert check_lengths(given, other, shape=(2, 3), like=LIKE) == (given, other)
    assert check_lengths(given, other, shape=(2, 3), like=LIKE, target_time=9) == (given, other)


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        (lengths(1, 4), None, {}, "clip 1 has source length 4; expected 1..3. Drop empty"),
        (lengths(0, 1), None, {}, "clip 0 has source length 0; expected 1..3"),
        (lengths(1, 1), lengths(2, 0), {}, "clip 1 has target length 0; expected 1. Drop"),
        (lengths(2, 3), None, {"target_time": 2}, "clip 1 has target length 3; expected 1..2"),
        (lengths(1, 1), lengths(3, 2), {"target_time": 2}, "clip 0 has target length 3;"),
        (lengths(1), None, {}, r"expected 2 source lengths, one per clip, got shape \(1,\)"),
        (lengths(1, 1, device="meta"), None, {}, "source lengths must be whole numbers, got"),
        (lengths(1, 1).to_sparse(), None, {}, "got torch.int64 .torch.sparse_coo"),
    ],
)
def test_lengths_that_are_refused(source, target, options, message):
    with pytest.raises(AlignmentError, match=message):
        check_lengths(source, target, shape=(2, 3), like=LIKE, **options)


def test_nothing_cannot_be_aligned():
    with pytest.raises(AlignmentError, match="nothing to align: the batch is empty"):
        check_lengths(None, None, shape=(0, 3), like=LIKE)


def test_a_window_that_cannot_reach_names_the_smallest_that_does():
    rows, columns = lengths(10, 10), lengths(10, 95)
    check_reach(rows, columns, 5)
    check_reach(columns, columns, 1)
    message = "clip 1 aligns 10 steps with 95, which window 4 cannot reach; .* works is 5"
    with pytest.raises(AlignmentError, match=message):
        check_reach(rows, columns, 4)


def test_smallest_windows():
    pairs = [(1, 1), (7, 7), (10, 95), (95, 10), (1, 3), (1, 4), (2, 7), (4, 6)]
    assert [smallest_window(*pair) for pair in pairs] == [1, 1, 5, 1, 1, 2, 2, 1]


def test_rounding_leaves_what_the_answer_or_the_work_leaves():
    assert smallest_tolerance(torch.float32) == 4 * torch.finfo(torch.float32).eps
    assert smallest_tolerance(torch.float64) == 64 * torch.finfo(torch.float64).eps
