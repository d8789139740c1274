"""At a glance: nothing is claimed that no test supports."""

import numpy as np

from mmalign.experiments.report.findings import find, find_all, findings_table, sentences
from mmalign.experiments.report.runs import Condition, read_runs
from tests.experiments.report.made import Making, make_grid

HERE = Condition("accelerometer", "gyroscope", 0.5)
MAIN = Making(suites=("main",), survivals=(0.5,))


def shifted(**shifts: float):
    """Scores with little noise around 0.6 plus a shift by method."""

    def score(entry, setting) -> float:
        config = entry.job.config
        words = config.method.replace("-", "_")
        noise = np.random.default_rng([config.seed, *entry.system.encode(), *setting.encode()])
        return 0.6 + shifts.get(words, 0.0) + float(noise.normal(0, 1e-4))

    return score


def test_who_is_clearly_above_and_below(tmp_path):
    score = shifted(dynamic_window=0.1, mfm=-0.1, zero_fill=0.05, copy=0.2, ub=0.3)
    runs = read_runs(make_grid(tmp_path / "g", MAIN, score=score))
    found = find(runs, HERE, "A")
    assert found.earning == ("dynamic window",)
    assert set(found.above_both) == {"copy", "dynamic window"}  # a floor is no imputer
    assert "MFM" in found.costing
    assert found.floor["MM-Align"] < 0
    assert found.headroom is True
    told = " ".join(sentences(runs, find_all(runs)))
    assert "earns its keep in 2 of 2: dynamic window (2 of 2)" in told
    assert "paired over 5 seeds" in told
    row = findings_table(find_all(runs)).rows[0]
    assert row.cells[0].text == "yes"


def test_where_nobody_wins_it_says_so_and_that_there_is_nothing_to_win(tmp_path):
    score = shifted(lb=0.02, mfm=-0.1, ub=0.0)
    runs = read_runs(make_grid(tmp_path / "g", MAIN, score=score))
    told = " ".join(sentences(runs, find_all(runs)))
    assert "No imputer earns its keep in any of 2" in told
    assert "MFM (2 of 2)" in told
    assert "even UB" in told


def test_being_above_one_reference_is_not_enough(tmp_path):
    runs = read_runs(make_grid(tmp_path / "g", MAIN, score=shifted(lb=0.1, mmalign=0.05)))
    found = find(runs, HERE, "B")
    assert "MM-Align" in found.above_floor
    assert "MM-Align" not in found.earning


def test_one_seed_makes_no_claim(tmp_path):
    grid = make_grid(tmp_path / "g", MAIN, is_done=lambda e: e.job.config.seed == 0)
    runs = read_runs(grid)
    findings = find_all(runs)
    assert "No test is possible" in sentences(runs, findings)[0]
    assert findings_table(findings).rows[0].cells[0].text == "not testable yet"
    assert all(not f.above_both and not f.costing and f.headroom is None for f in findings)
