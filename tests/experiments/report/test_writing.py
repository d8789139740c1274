"""The files of a report: complete, safe, the same every time."""

import csv
import re
import xml.etree.ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from mmalign.data.task import Classification
from mmalign.errors import MMAlignError
from mmalign.experiments.grid import open_grid
from mmalign.experiments.report.overview import write_document
from mmalign.experiments.report.rendering import page_html
from mmalign.experiments.report.runs import read_runs
from mmalign.experiments.report.writing import write_report
from mmalign.runs.manifest import seal
from mmalign.runs.records import write_json
from mmalign.runs.result import RESULT
from tests.experiments.report.made import Making, default_score, job_of, make_grid
from tests.experiments.report.test_rendering import HOSTILE, Cells

SMALL = Making(suites=("main",), survivals=(0.5,), seeds=(0, 1, 2))
NULLS = '{"settings": {"A": null, "B": {}}, "floor": {}, "epochs": 1, "parameters": {}}'
CHAPTERS = "glance main differences ablation window epsilon plans case speed published setup runs"


def test_every_chapter_table_and_figure_is_there(report):
    page = (report / "report.html").read_text()
    assert re.findall(r'<section id="(\w+)"', page) == CHAPTERS.split()
    tables = {file.name for file in (report / "tables").iterdir()}
    assert len({name.removesuffix(".csv") for name in tables if name.endswith(".csv")}) > 12
    for name in tables - {"scores.csv"}:
        assert {name[:-4] + ".tex", name[:-4] + ".csv"} <= tables
    kinds = {file.name.split("-")[0] for file in (report / "figures").iterdir()}
    assert kinds == {"leads", "window", "epsilon", "plans", "case", "speed"}
    text = (report / "report.md").read_text()
    for figure in re.findall(r"\]\((figures/[^)]+)\)", text):
        assert (report / figure).exists()


def test_the_page_explains_its_words_and_draws_the_leads_before_the_first_table(report):
    page = (report / "report.html").read_text()
    glance = page[page.index('<section id="glance"') : page.index('<section id="main"')]
    words = "Survival: ", "Setting A: ", "setting B: ", "LB, the lower ", "UB, the ", "Floors "
    for word in words:
        assert word in glance
    assert glance.index("<picture>") < glance.index("<table>")
    (figure,) = (report / "figures").glob("leads-*.svg")
    drawn = figure.read_text()
    assert "Setting A" in drawn
    assert "minus that of zero-fill" in drawn
    told = re.search(r'alt="(Differences from zero-fill in MAE.*?)"', glance)[1]
    differences = {row[0]: row[1] for row in _rows(report, "differences-a-1")[1:]}
    assert f"A, UB: {differences['UB'].rstrip(' ▲▼')};" in told


def test_the_page_asks_for_nothing_from_outside(report):
    page = (report / "report.html").read_text()
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.findall(r'(?:src|href|srcset)="(?!data:|#)', page)
    assert "http://" not in page.replace("http-equiv", "")
    assert "https://" not in page


def test_figures_are_xml_with_words_as_text_and_no_links_out(report):
    for file in (report / "figures").iterdir():
        tree = ET.parse(file)
        for element in tree.iter():
            for name, value in element.attrib.items():
                if name.endswith("href"):
                    assert value.startswith(("#", "data:"))
    case = next((report / "figures").glob("case-1-*")).read_text()
    assert "&lt;really&gt;" in case


def test_an_unfinished_grid_is_reported_with_what_is_missing(report):
    page = (report / "report.html").read_text()
    assert "This grid is not finished" in page
    assert "paired over up to 3 seeds" in page
    missing = list(csv.reader((report / "tables" / "missing.csv").open()))
    assert ["MFM", "main", "text → vision, survival 10 %", "2", "not run yet"] in missing
    assert any("(n=2)" in cell for row in _rows(report, "main-1") for cell in row)


def _rows(report, start: str) -> list[list[str]]:
    file = next((report / "tables").glob(f"{start}*.csv"))
    return list(csv.reader(file.open()))


def test_scores_hold_every_digit_of_every_run(report):
    rows = list(csv.DictReader((report / "tables" / "scores.csv").open()))
    runs = read_runs(open_grid(report.parent))
    chosen = [r for r in runs.finished if r.entry.suite == "main" and r.entry.system == "MM-Align"]
    for run in chosen:
        (found,) = [
            row["value"]
            for row in rows
            if (row["suite"], row["system"], row["seed"]) == ("main", "MM-Align", str(run.seed))
            and (row["setting"], row["plan"], row["metric"]) == ("B", "own", "acc2")
        ]
        assert float(found) == default_score(run.entry, "B") + 0.02


def test_the_same_grid_gives_the_same_bytes(tmp_path):
    suites = ("main", "case")
    grid = make_grid(tmp_path / "g", Making(suites=suites, survivals=(0.5,), seeds=(0, 1)))
    first = write_report(grid, tmp_path / "first").parent
    again = write_report(open_grid(tmp_path / "g"), tmp_path / "again").parent
    names = sorted(file.relative_to(first) for file in first.rglob("*.*"))
    assert names == sorted(file.relative_to(again) for file in again.rglob("*.*"))
    for name in names:
        assert (first / name).read_bytes() == (again / name).read_bytes(), name


def test_a_newer_report_replaces_the_old_one_and_leaves_other_files_alone(tmp_path):
    grid = make_grid(tmp_path / "g", SMALL)
    out = write_report(grid, tmp_path / "out").parent
    (out / "tables" / "old.tex").write_text("of a report that was")
    (out / "notes.txt").write_text("mine")
    (out / "report.html").write_text("old")
    write_report(grid, out)
    assert not (out / "tables" / "old.tex").exists()
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "report.html").read_text().startswith("<!doctype html>")
    assert not list(out.rglob(".*"))


def test_errors_of_failed_runs_are_told(tmp_path):
    grid = make_grid(tmp_path / "g", SMALL, is_done=lambda e: e.system != "copy")
    address, _ = job_of(grid, "main", "copy", 2)
    grid.site.error_file(address).parent.mkdir()
    write_json(grid.site.error_file(address), {"error": "loss is <not> finite"})
    page = page_html(write_document(read_runs(grid)))
    assert "1 of them after an error" in page
    assert "loss is &lt;not&gt; finite" in page


def test_a_single_seed_is_reported_without_a_test(tmp_path):
    grid = make_grid(tmp_path / "g", Making(suites=("main",), seeds=(7,)))
    page = page_html(write_document(read_runs(grid)))
    assert "No test is possible" in page
    assert "With 1 seed no test is possible" in page
    assert "▲</abbr>" not in page


@pytest.mark.parametrize("suite", ["speed", "case", "alignment"])
def test_a_grid_of_one_suite_has_the_chapters_it_can_have(tmp_path, suite):
    document = write_document(
        read_runs(make_grid(tmp_path / "g", Making(suites=(suite,), survivals=(0.5,))))
    )
    names = {section.name for section in document.sections}
    assert {"plans" if suite == "alignment" else suite, "setup", "runs"} <= names
    assert not {"main", "glance", "published"} & names


def test_undefined_metrics_are_left_out_not_counted_as_zero(tmp_path):
    grid = make_grid(tmp_path / "g", SMALL)
    address, _ = job_of(grid, "main", "copy", 2)
    file = grid.run_folder(address) / RESULT
    content = grid.result(address)
    content["settings"]["A"]["metrics"]["test"]["weighted_f1"] = None
    write_json(file, content)
    seal(file.parent, {})
    (row,) = [
        row
        for table in write_document(read_runs(grid)).tables()
        if table.name.startswith("main")
        for row in table.rows
        if row.title == "copy"
    ]
    assert row.cells[0].text.endswith("(n=2)")
    assert "n=" not in row.cells[1].text


def hostile_making() -> Making:
    first, second = HOSTILE[0] + HOSTILE[3], HOSTILE[1] + HOSTILE[4]
    return Making(
        task=Classification((HOSTILE[2], HOSTILE[3])),
        pairs=((first, second),),
        survivals=(0.5,),
        seeds=(0, 1),
        suites=("main", "window", "speed", "case"),
        path=f"somewhere/{HOSTILE[4]}",
        words=(*HOSTILE, "电影", "🙂", "$x^2$"),
        clip_id=HOSTILE[3],
    )


def test_hostile_names_are_shown_and_do_nothing(tmp_path):
    grid = make_grid(tmp_path / "g", hostile_making())
    out = write_report(grid, tmp_path / "out").parent
    page = (out / "report.html").read_text()
    reader = Cells()
    reader.feed(page)
    assert "script" not in reader.tags
    assert reader.tags.count("img") == page.count("<picture>")
    assert "onerror=" not in re.sub(r'alt="[^"]*"|aria-label="[^"]*"|>[^<]*<', "", page)
    assert {f.parent for f in out.rglob("*.*")} == {out, out / "tables", out / "figures"}
    for file in (out / "tables").glob("*.tex"):
        assert "\\input" not in file.read_text()
    for file in (out / "figures").iterdir():
        ET.parse(file)
    shown = Cells()
    shown.feed(MarkdownIt("gfm-like", {"linkify": False}).render((out / "report.md").read_text()))
    assert not {"script", "a"} & set(shown.tags)
    assert shown.tags.count("img") == reader.tags.count("img")


def test_a_grid_without_a_finished_run_is_refused(tmp_path):
    grid = make_grid(tmp_path / "g", SMALL, is_done=lambda _: False)
    with pytest.raises(MMAlignError, match="no run is finished"):
        write_report(grid, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"settings": {}}', '{"settings": {"A": {}}}', NULLS]
)
def test_damaged_results_are_named(tmp_path, content):
    grid = make_grid(tmp_path / "g", SMALL)
    address, _ = job_of(grid, "main", "MFM", 1)
    (grid.run_folder(address) / RESULT).write_text(content)
    with pytest.raises(MMAlignError, match=address):
        write_report(grid, tmp_path / "out")


def test_a_folder_of_something_else_is_not_touched(tmp_path):
    grid = make_grid(tmp_path / "g", SMALL)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work")
    with pytest.raises(MMAlignError, match="not a report"):
        write_report(grid, mine)
    assert [f.name for f in mine.iterdir()] == ["thesis.tex"]
