"""Parts of the method and swapped plans, against scipy."""

import re

import numpy as np
import pytest
from scipy import stats

from mmalign.experiments.report.ablation import ablation_table, swap_table
from mmalign.experiments.report.runs import Condition, read_runs
from mmalign.experiments.suites import ABLATIONS
from tests.experiments.report.made import Making, default_score, make_grid

HERE = Condition("accelerometer", "gyroscope", 0.5)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    making = Making(suites=("ablation",), survivals=(0.5,), seeds=(0, 1, 2))
    return read_runs(make_grid(tmp_path_factory.mktemp("grids") / "g", making))


def scores_of(runs, system: str) -> np.ndarray:
    entries = [p.entry for p in runs.grid.placed if p.entry.system == system]
    return np.array([default_score(entry, "A") for entry in entries])


def numbers(text: str) -> list[float]:
    return [float(n.replace("−", "-")) for n in re.findall(r"[+−]?\d+\.\d+", text)]


def test_every_part_is_compared_with_the_whole_in_setting_a(runs):
    table = ablation_table(runs, HERE, "t")
    assert [row.title for row in table.rows][: len(ABLATIONS)] == list(ABLATIONS)
    assert table.rows[-1].title == "UB"
    whole = scores_of(runs, "MM-Align")
    for row in table.rows[1:]:
        test = stats.ttest_rel(scores_of(runs, row.title), whole)
        low, high = test.confidence_interval(0.95)
        mean = (scores_of(runs, row.title) - whole).mean()
        expected = [100 * mean, 100 * low, 100 * high]
        assert numbers(row.cells[4].text) == pytest.approx(expected, abs=0.0501)
        assert row.cells[4].is_best == (test.pvalue < 0.05)


def test_swaps_are_predicted_minus_other_plan_over_paired_seeds(runs):
    table = swap_table(runs, HERE, "t")
    assert [row.title for row in table.rows] == [
        "MM-Align",
        "MM-Align, improved",
        *[title for title in ABLATIONS if title not in ("MM-Align", "MM-Align, improved")],
    ]
    # The made results lose 0.4, lose 1.0 and win 1.2 points, drifting by 0.2 a seed.
    for cell, change in zip(table.rows[0].cells[1:], (-0.4, -1.0, 1.2), strict=True):
        drift = np.array([0.0, 0.2, 0.4])
        low, high = stats.ttest_1samp(-(change + drift), 0).confidence_interval(0.95)
        expected = [-(change + 0.2), low, high]
        assert numbers(cell.text) == pytest.approx(expected, abs=0.0501)


def test_without_plans_there_is_nothing_to_swap(tmp_path):
    making = Making(suites=("ablation",), survivals=(0.5,), seeds=(0, 1))
    grid = make_grid(tmp_path / "g", making, is_done=lambda e: e.system == "LB")
    assert swap_table(read_runs(grid), HERE, "t") is None
