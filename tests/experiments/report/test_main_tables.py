"""The main tables, from made results to cells, against scipy."""

import re

import numpy as np
import pytest
from scipy import stats

from mmalign.evaluation.significance import PairedDifference
from mmalign.experiments.report.main_tables import (
    CONSTANT,
    difference_cell,
    difference_table,
    is_imputer,
    main_table,
    metrics_table,
)
from mmalign.experiments.report.measures import CLASSIFICATION
from mmalign.experiments.report.runs import Condition, read_runs
from mmalign.experiments.systems import SYSTEMS
from tests.experiments.report.made import Making, default_score, make_grid, metrics, regression

MAIN = Making(suites=("main",), survivals=(0.5,))
HERE = Condition("accelerometer", "gyroscope", 0.5)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return read_runs(make_grid(tmp_path_factory.mktemp("grids") / "g", MAIN))


def scores_of(runs, system: str, setting: str, key: str = "weighted_f1") -> np.ndarray:
    """What the made results hold, found without the code under test."""
    found = {}
    for placed in runs.grid.placed:
        entry = placed.entry
        if entry.system == system and entry.survival == HERE.survival:
            share = default_score(entry, setting)
            found[entry.job.config.seed] = metrics(Making().task, share)[key]
    return np.array([found[seed] for seed in sorted(found)])


def rows_of(table):
    return {row.title: row.cells for row in table.rows}


@pytest.mark.parametrize("setting", ["A", "B"])
def test_cells_marks_and_gaps_are_those_of_scipy(runs, setting):
    rows = rows_of(main_table(runs, HERE, "t"))
    first = 0 if setting == "A" else 3
    lower, zeros = scores_of(runs, "LB", setting), scores_of(runs, "zero-fill", setting)
    upper = scores_of(runs, "UB", setting)
    seen = set()
    for title, _ in SYSTEMS.values():
        scores, cell = scores_of(runs, title, setting), rows[title][first]
        assert cell.text == f"{100 * scores.mean():.1f} ± {100 * stats.tstd(scores):.1f}"
        expected = ""
        for reference, better, worse in ((zeros, "▲", "▼"), (lower, "†", "‡")):
            if not np.array_equal(reference, scores):
                test = stats.ttest_rel(scores, reference)
                expected += (better if test.statistic > 0 else worse) * int(test.pvalue < 0.05)
        assert cell.marks == expected
        seen |= set(expected)
        if title not in ("LB", "UB"):
            gap = (scores.mean() - lower.mean()) / (upper.mean() - lower.mean())
            assert rows[title][first + 2].text == f"{100 * gap:.0f} %".replace("-", "−")
    assert seen == set("▲▼†‡")  # all kinds of marks have been checked


def test_differences_are_scipy_s_with_interval_and_p(runs):
    rows = rows_of(difference_table(runs, HERE, "A", "t"))
    for title, _ in SYSTEMS.values():
        for reference, at in (("zero-fill", 0), ("LB", 2)):
            if title == reference:
                assert rows[title][at].text == "–"
                continue
            test = stats.ttest_rel(scores_of(runs, title, "A"), scores_of(runs, reference, "A"))
            interval = test.confidence_interval(0.95)
            mean = (scores_of(runs, title, "A") - scores_of(runs, reference, "A")).mean()
            shown = [100 * float(v) for v in (mean, interval.low, interval.high)]
            found = re.findall(r"[+−]?\d+\.\d+", rows[title][at].text)
            assert [float(v.replace("−", "-")) for v in found] == pytest.approx(shown, abs=0.0501)
            p_text = "< 0.001" if test.pvalue < 0.001 else f"{test.pvalue:.3f}"
            assert rows[title][at + 1].text == p_text
            assert rows[title][at].is_best == (test.pvalue < 0.05)


def test_the_best_but_for_the_upper_bound_is_bold(runs):
    rows = rows_of(main_table(runs, HERE, "t"))
    bold = [title for title, cells in rows.items() if cells[0].is_best]
    means = {t: scores_of(runs, t, "A").mean() for t, _ in SYSTEMS.values() if t != "UB"}
    assert bold == [max(means, key=means.get)]


def test_rows_stand_in_the_usual_order_floors_and_bounds_apart(runs):
    table = main_table(runs, HERE, "t")
    assert [row.title for row in table.rows] == [CONSTANT, *(t for t, _ in SYSTEMS.values())]
    starts = [row.title for row in table.rows if row.starts_group]
    assert starts == ["zero-fill", "MFM", "UB"]
    assert table.rows[0].cells[0].text == "30.0"
    assert {row.title for row in table.rows if is_imputer(runs, row.title)} == {
        "MFM",
        "SMIL",
        "Modal-Trans",
        "MM-Align",
        "MM-Align, improved",
        "dynamic window",
    }


def test_errors_are_better_when_smaller(tmp_path):
    runs = read_runs(make_grid(tmp_path / "g", regression(suites=("main",), survivals=(0.5,))))
    rows = rows_of(main_table(runs, Condition("text", "vision", 0.5), "t"))
    assert "‡" in rows["LB, complete split only"][0].marks
    assert "†" in rows["UB"][0].marks
    assert not rows["UB"][0].is_best
    everything = metrics_table(runs, Condition("text", "vision", 0.5), "B", "t")
    assert [column.title for column in everything.columns] == [
        "MAE ↓",
        "Acc-2 ↑",
        "F1 ↑",
        "Pearson r ↑",
        "Acc-2 with zero ↑",
        "Acc-7 ↑",
    ]


def test_cells_say_how_many_seeds_they_lack_and_absent_ones_are_empty(tmp_path):
    def is_done(entry) -> bool:
        missing = {"copy": 3, "MFM": 1, "UB": 9, "mean-fill": 4}
        return entry.job.config.seed < 5 - missing.get(entry.system, 0)

    grid = make_grid(tmp_path / "g", MAIN, is_done=is_done)
    rows = rows_of(main_table(read_runs(grid), HERE, "t"))
    assert rows["copy"][0].text.endswith("(n=2)")
    assert rows["MFM"][0].text.endswith("(n=4)")
    assert re.fullmatch(r"[\d.]+ \(n=1\)", rows["mean-fill"][0].text)
    assert rows["mean-fill"][0].marks == ""
    assert rows["UB"][0].text == "–"
    assert rows["MM-Align"][2].text == "–"  # no upper bound, no gap


def test_a_gap_without_clear_bounds_stands_in_brackets(tmp_path):
    def score(entry, setting) -> float:
        noise = np.random.default_rng([entry.job.config.seed, *entry.system.encode()])
        return float(noise.normal(0.6, 0.05))

    grid = make_grid(tmp_path / "g", MAIN, score=score)
    rows = rows_of(main_table(read_runs(grid), HERE, "t"))
    assert re.fullmatch(r"\(−?\d+ %\)", rows["MM-Align"][2].text)


@pytest.mark.parametrize(("mean", "is_bold"), [(0.0001, False), (0.0011, True), (-0.02, True)])
def test_a_difference_that_is_nothing_in_the_digits_shown_is_not_bold(mean, is_bold):
    cell = difference_cell(PairedDifference(mean, mean, mean, 0.0, 3), CLASSIFICATION[0])
    assert cell.is_best is is_bold
