"""Both paths of the alignment core, and the way to its oracle."""

import sys
from pathlib import Path

import pytest

from mmalign.align import fitting, imputation, solver

sys.path.insert(0, str(Path(__file__).parent))  # for align_oracle


@pytest.fixture
def portable(monkeypatch):
    """Everything in torch operations, as on a GPU or without Numba."""
    for module in (solver, imputation, fitting):
        monkeypatch.setattr(module, "kernels", lambda name: None)


@pytest.fixture(params=["compiled", "portable"])
def path(request):
    """Runs a test on the compiled path and on the portable one."""
    if request.param == "portable":
        request.getfixturevalue("portable")
    return request.param
