"""Curves over window and epsilon, against scipy."""

import numpy as np
import pytest
from scipy import stats

from mmalign.experiments.report.curves import curve, curve_table
from mmalign.experiments.report.runs import Condition, read_runs
from tests.experiments.report.made import Making, default_score, make_grid

HERE = Condition("accelerometer", "gyroscope", 0.5)
MAKING = Making(suites=("window", "epsilon"), survivals=(0.5,), seeds=(0, 1, 2))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    grid = make_grid(
        tmp_path_factory.mktemp("grids") / "g",
        MAKING,
        is_done=lambda e: e.system not in ("64", "5"),
    )
    return read_runs(grid)


def test_points_are_means_with_t_intervals_in_order(runs):
    found = curve(runs, "window", HERE, "B")
    assert list(found.points) == [4, 8, 16, 32, 128, 256]  # 64 is not finished
    for value, level in found.points.items():
        entries = [
            p.entry
            for p in runs.grid.placed
            if p.entry.suite == "window" and p.entry.system == f"{value:g}"
        ]
        sample = np.array([default_score(entry, "B") for entry in entries])
        interval = stats.t.interval(0.95, 2, sample.mean(), stats.sem(sample))
        assert level.mean == pytest.approx(sample.mean())
        assert (level.low, level.high) == pytest.approx(interval)


def test_references_and_the_uniform_limit_are_no_points(runs):
    assert set(curve(runs, "window", HERE, "A").references) == {"LB", "zero-fill"}
    found = curve(runs, "epsilon", HERE, "A")
    assert set(found.references) == {"LB", "zero-fill", "uniform"}
    assert list(found.points) == [0.01, 0.03, 0.1, 0.3, 1.0]


def test_the_table_lists_values_first_and_shows_what_is_missing(runs):
    table = curve_table(runs, "epsilon", HERE, "t")
    titles = [row.title for row in table.rows]
    assert titles[:6] == ["0.01", "0.03", "0.1", "0.3", "1", "5"]
    assert set(titles[6:]) == {"LB", "zero-fill", "uniform"}
    assert table.rows[5].cells[0].text == "–"
    assert [row.starts_group for row in table.rows].index(True) == 6
