"""The compiled path is optional and lazy."""

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
import torch

from mmalign.align.checks import check_lengths
from mmalign.align.compiled import can_compile, kernels, solve_compiled

SCRIPT = """
import sys
{before}
import torch
import mmalign.align as align
assert "numba" not in sys.modules or sys.modules["numba"] is None
steps = torch.randn(2, 9, 4)
plan = align.solve(steps, steps.flip(1), window=2)
assert plan.converged.all()
assert ("mmalign.align.kernels.solve" in sys.modules) == {compiled}
source = steps.requires_grad_()
align.impute(plan.mass, source).sum().backward()
assert source.grad.isfinite().all()
"""


def run(script):
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_importing_the_package_does_not_import_numba():
    answer = run(SCRIPT.format(before="", compiled=True))
    assert answer.returncode == 0, answer.stderr


def test_everything_works_without_numba():
    answer = run(SCRIPT.format(before="sys.modules['numba'] = None", compiled=False))
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernels_take_two_tensors_of_one_dtype_on_the_cpu(dtype):
    here, away = torch.zeros(1, dtype=dtype), torch.zeros(1, dtype=dtype, device="meta")
    assert can_compile(here, here)
    assert not can_compile(here, away)
    assert not can_compile(away, here)
    assert not can_compile(away, away)
    for other in (torch.float16, torch.float32, torch.float64, torch.int64):
        assert can_compile(here, here.to(other)) == (other == dtype)
        assert can_compile(here.to(other), here) == (other == dtype)


def test_kernels_take_no_other_dtype():
    half = torch.zeros(1, dtype=torch.float16)
    assert not can_compile(half, half)


def room_of(dtype, rows, columns):
    """The plan's memory and the room that Newton gets, for lengths that are solved alone."""
    seen = []

    def tolerance_batch(source, target, n, m, settings, mass, counts, errors, is_done, room):
        seen[:] = mass, room
        return -1

    solver = ModuleType("solver")
    solver.groupable = lambda *_: np.empty(0, np.int64)
    solver.tolerance_batch = tolerance_batch
    source, target = torch.ones(2, rows, 3, dtype=dtype), torch.ones(2, columns, 3, dtype=dtype)
    lengths = check_lengths(None, torch.full((2,), columns), shape=(2, rows), like=source)
    effort = {"epsilon": 0.1, "tolerance": 1e-6, "iterations": None}
    solve_compiled(solver, source, target, *lengths, window=8, **effort)
    return seen


@pytest.mark.parametrize(("rows", "columns"), [(6, 6), (6, 5), (5, 6), (30, 29)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_newton_works_in_the_plan_where_it_fits_and_in_room_for_one_clip_elsewhere(
    dtype, rows, columns
):
    mass, room = room_of(dtype, rows, columns)
    fits = dtype == torch.float64 and rows >= columns
    assert room.dtype == np.float64
    assert room.shape == (mass.shape if fits else (1, columns, 17))
    assert np.shares_memory(room, mass) == fits


def test_kernels_that_cannot_be_imported_are_none():
    assert kernels("align.kernels.of_nobody") is None
