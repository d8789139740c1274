"""The compiled path is optional and lazy."""

import subprocess
import sys

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
