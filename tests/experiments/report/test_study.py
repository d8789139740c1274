"""Several datasets in one report, and their main tables on one page."""

import csv
import re
from collections import Counter

import numpy as np
import pytest
from markdown_it import MarkdownIt
from scipy import stats

from mmalign.errors import MMAlignError
from mmalign.experiments.report.comparison import Panel
from mmalign.experiments.report.overview import count_table
from mmalign.experiments.report.runs import read_runs
from mmalign.experiments.report.study_tables import learning_rate_table, pair_tables
from mmalign.experiments.report.writing import write_study
from tests.experiments.report.made import Making, default_score, make_grid, metrics, regression
from tests.experiments.report.test_rendering import Cells

RATES = {
    "watch <1>": {"LB": {1e-3: [0.7, 0.8], 2e-3: [0.6]}, "zero-fill": {1e-3: [0.5]}},
    "mosi": {"LB": {2e-3: [-1.1]}},
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    watch = make_grid(folder / "watch", Making(suites=("main", "speed"), seeds=(0, 1, 2, 3)))
    mosi = make_grid(folder / "mosi", regression(suites=("main",), seeds=(0, 1, 2)))
    return {"watch <1>": read_runs(watch, decides="accuracy"), "mosi": read_runs(mosi)}


@pytest.fixture(scope="module")
def study(results, tmp_path_factory):
    return write_study(results, tmp_path_factory.mktemp("out") / "report", rates=RATES).parent


def test_every_dataset_has_its_chapters_and_no_name_comes_twice(study):
    page = (study / "report.html").read_text()
    sections = re.findall(r'<section id="([\w-]+)"', page)
    assert sections[0] == "glance"
    assert {"1-watch-1-main", "1-watch-1-speed", "2-mosi-main", "2-mosi-published"} <= set(sections)
    assert max(Counter(re.findall(r' id="([^"]+)"', page)).values()) == 1
    assert re.findall(r'<h2 class="part">([^<]+)</h2>', page) == ["watch &lt;1&gt;", "mosi"]
    tables = {file.name for file in (study / "tables").glob("*.csv")}
    assert {"counts.csv", "1-watch-1-masks.csv", "2-mosi-masks.csv"} <= tables
    text = (study / "report.md").read_text()
    for figure in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (study / figure).exists()
    scores = list(csv.DictReader((study / "tables" / "scores.csv").open()))
    assert {row["dataset"] for row in scores} == {"watch <1>", "mosi"}


def test_one_count_goes_over_all_datasets(results, study):
    rows = {row.title: [float(c.text) for c in row.cells] for row in count_table(results).rows}
    assert rows["watch <1>"][0] == 10 * 2 * 2
    assert rows["mosi"][0] == 10 * 2 * 2 * 2
    both = np.add(rows["watch <1>"], rows["mosi"])
    assert rows["All datasets"] == pytest.approx(both, abs=0.11)
    told = f"120 comparisons (system × pair × survival × setting), {both[1]:.0f} clearly better"
    assert told in (study / "report.html").read_text()
    assert told in (study / "results.md").read_text()
    assert "about 3.0 of each" in (study / "results.md").read_text()


def watch_scores(runs, system: str, survival: float, setting: str) -> np.ndarray:
    """Accuracies that the made results hold, found without the code under test."""
    entries = [r.entry for r in runs.planned if r.entry.suite == "main"]
    own = [e for e in entries if (e.system, e.survival) == (system, survival)]
    return np.array([metrics(Making().task, default_score(e, setting))["accuracy"] for e in own])


def test_bold_scores_and_differences_are_those_of_scipy(results):
    runs = results["watch <1>"]
    scores, differences, *_ = pair_tables([Panel(runs, "main", c) for c in runs.conditions("main")])
    assert [c.title for c in scores.columns] == ["10 %, A", "10 %, B", "50 %, A", "50 %, B"]
    assert scores.rows[0].title == "constant"
    assert {cell.text for cell in scores.rows[0].cells} == {"31.0"}
    changes = {row.title: row.cells for row in differences.rows}
    places = [(survival, setting) for survival in (0.1, 0.5) for setting in "AB"]
    bold = 0
    for row in scores.rows[1:]:
        for index, place in enumerate(places):
            own, zeros = (watch_scores(runs, s, *place) for s in (row.title, "zero-fill"))
            expected = f"{100 * own.mean():.1f} ± {100 * stats.tstd(own):.1f}"
            assert row.cells[index].text == expected
            if row.title == "zero-fill":
                assert not row.cells[index].is_best
                continue
            test = stats.ttest_rel(own, zeros)
            assert row.cells[index].is_best == (test.pvalue < 0.05 and test.statistic > 0)
            bold += row.cells[index].is_best
            if row.title not in ("LB", "UB"):
                cell = changes[row.title][index]
                assert cell.is_best == (test.pvalue < 0.05)
                mean = 100 * (own - zeros).mean()
                shown = float(cell.text.split()[0].replace("−", "-"))
                assert shown == pytest.approx(mean, abs=0.0501)
    assert bold > 4


def test_a_system_with_switches_is_compared_with_zero_fill_that_has_the_same(results):
    runs = results["watch <1>"]
    tables = pair_tables([Panel(runs, "main", c) for c in runs.conditions("main")])
    (controls,) = [table for table in tables if "same switches" in table.title]
    (row,) = controls.rows
    assert row.title == "MM-Align, improved"
    own = watch_scores(runs, "MM-Align, improved", 0.1, "A")
    control = watch_scores(runs, "zero-fill, improved", 0.1, "A")
    shown = float(row.cells[0].text.split()[0].replace("−", "-"))
    assert shown == pytest.approx(100 * (own - control).mean(), abs=0.0501)


def test_the_page_of_tables_reads_as_markdown(study):
    shown = Cells()
    text = (study / "results.md").read_text()
    shown.feed(MarkdownIt("gfm-like", {"linkify": False}).render(text))
    assert shown.tags.count("table") == 1 + 1 + 1 + 3 * 5
    assert shown.tags.count("h3") == 2 + 3
    assert "watch <1>: accelerometer visible, gyroscope may be missing" in text.replace("\\", "")


def test_learning_rates_show_their_mean_score_and_the_best_in_bold():
    table = learning_rate_table(RATES)
    assert [(c.group, c.title) for c in table.columns] == [
        ("watch <1>", "0.001"),
        ("watch <1>", "0.002"),
        ("mosi", "0.002"),
    ]
    cells = {row.title: [(c.text, c.is_best) for c in row.cells] for row in table.rows}
    assert cells["LB"] == [("0.750", True), ("0.600", False), ("-1.100", True)]
    assert cells["zero-fill"] == [("0.500", True), ("–", False), ("–", False)]


def test_a_study_without_results_is_refused(tmp_path):
    with pytest.raises(MMAlignError, match="no dataset"):
        write_study({}, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_not_touched(results, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(MMAlignError, match="not a report"):
        write_study(results, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]
