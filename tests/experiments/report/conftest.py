"""A whole report, made once for all tests that only look at it."""

from pathlib import Path

import pytest

from mmalign.experiments.report.writing import write_report
from tests.experiments.report.made import make_grid, regression


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Path:
    """Every suite of a grid like MOSI, one pair, one survival rate; two runs are missing."""
    making = regression(pairs=(("text", "vision"),), survivals=(0.1,), seeds=(0, 1, 2))
    grid = make_grid(
        tmp_path_factory.mktemp("grid") / "grid",
        making,
        is_done=lambda e: not (e.system in ("MFM", "copy") and e.job.config.seed == 2),
    )
    return write_report(grid, grid.folder / "report").parent
