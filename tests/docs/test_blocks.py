"""The Python of pages that have no test of their own runs, on less data."""

import pytest

import mmalign
from tests.docs.pages import ROOT, blocks
from tests.docs.test_readme import few_clips
from tests.experiments.report.made import Making, make_grid


def run(page: str, names: dict, shorter: dict[str, str] | None = None) -> dict:
    """Run the first block of a page with these names at hand, and some of its text replaced."""
    text = blocks(ROOT / "docs" / page, "python")[0]
    for long, short in (shorter or {}).items():
        assert long in text
        text = text.replace(long, short)
    exec(compile(text, page, "exec"), names)
    return names


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mmalign, "load_dataset", few_clips)


def test_two_sequences_are_aligned():
    plan = run("alignment.md", {})["plan"]
    assert plan.mass.shape == (40, 17)
    assert plan.converged.all()


def test_options_of_speed_are_known():
    assert run("performance.md", {"mmalign": mmalign})["model"].get_params()["compiled_layers"]


def test_grids_become_one_report(tmp_path):
    for folder in ("grid", "small"):
        make_grid(tmp_path / folder, Making(suites=("main",), seeds=(0, 1)))
    run("report.md", {})
    assert "<h1>Two trainings</h1>" in (tmp_path / "both" / "report.html").read_text()


def test_a_search_ends_with_a_ranking():
    quick = {"trials=30": "trials=1", '"epochs": 15': '"epochs": 1', "(0, 1)": "(0,)"}
    assert len(run("tuning.md", {}, quick)["tuned"].ranking) == 1
