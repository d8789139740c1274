"""At a glance: nothing is claimed that no test supports."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mmalign.experiments.report.comparison import Count, count_clear, difference, verdict
from mmalign.experiments.report.findings import (
    count_against_floor,
    find,
    find_all,
    findings_table,
    sentences,
)
from mmalign.experiments.report.measures import CLASSIFICATION, REGRESSION
from mmalign.experiments.report.runs import Condition, read_runs
from tests.experiments.report.made import Making, default_score, make_grid

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


def test_clear_differences_from_zero_fill_are_counted_as_scipy_counts_them(tmp_path):
    runs = read_runs(make_grid(tmp_path / "g", Making(suites=("main",), survivals=(0.1, 0.5))))
    scores = defaultdict(list)
    for run in runs.finished:
        for setting in ("A", "B"):
            place = run.condition, setting, run.entry.system
            scores[place].append(default_score(run.entry, setting))
    tests = [
        stats.ttest_rel(values, scores[condition, setting, "zero-fill"])
        for (condition, setting, system), values in scores.items()
        if system not in ("LB", "LB, complete split only", "UB", "zero-fill", "zero-fill, improved")
    ]
    better = sum(bool(test.pvalue < 0.05 and test.statistic > 0) for test in tests)
    worse = sum(bool(test.pvalue < 0.05 and test.statistic < 0) for test in tests)
    count = count_against_floor(find_all(runs))
    assert count == Count(len(tests), better, worse)
    assert len(tests) == 10 * 2 * 2
    assert min(better, worse) > 0
    told = " ".join(sentences(runs, find_all(runs)))
    assert f"40 comparisons (system × pair × survival × setting), {better} clearly better" in told
    assert f"{worse} clearly worse" in told
    assert "about 1.0 of each" in told


def test_chance_alone_makes_as_many_clear_as_the_count_says():
    rng = np.random.default_rng(0)
    equals = rng.normal(size=(8_000, 2, 5))
    verdicts = [
        verdict(difference(dict(enumerate(a)), dict(enumerate(b))), CLASSIFICATION[0])
        for a, b in equals
    ]
    count = count_clear(verdicts)
    assert count.better == pytest.approx(count.by_chance, rel=0.15)
    assert count.worse == pytest.approx(count.by_chance, rel=0.15)


MEASURED = Path(__file__).parents[3] / "benchmarks" / "results" / "accuracy.jsonl"


@pytest.mark.skipif(not MEASURED.exists(), reason="the measured scores are not in this checkout")
def test_measured_scores_give_the_count_of_the_results_page():
    scores: dict[tuple, dict[int, float]] = defaultdict(dict)
    for line in MEASURED.read_text().splitlines():
        row = json.loads(line)
        metric = "mae" if "mae" in row["scores"]["A"] else "accuracy"
        for setting, found in row["scores"].items():
            cell = row["data"], row["visible"], row["victim"], row["survival"], setting, metric
            scores[*cell, row["system"]][row["seed"]] = found[metric]
    measures = {measure.key: measure for measure in (*REGRESSION, *CLASSIFICATION)}
    count = count_clear(
        verdict(difference(values, scores[*cell, "zero-fill"]), measures[cell[-1]])
        for (*cell, system), values in list(scores.items())
        if not system.startswith("zero-fill") and "LB" not in system and "UB" not in system
    )
    assert count == Count(376, better=9, worse=13)
    assert round(count.by_chance) == 9
