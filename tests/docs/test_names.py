"""Every file, test, module, class and function that the pages name exists."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import PAGES, ROOT, code_spans

TESTS = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("*.py"))
EXAMPLES = {"src/mmalign/imputers/last_step.py"}  # what a reader of the page would write
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@each_page
def test_files_exist(page):
    named = set(code_spans(page, r"((?:src|tests|docs|studies|benchmarks)/[\w/.-]+)"))
    named |= set(code_spans(page, r"python ([\w/]+\.py).*"))
    named |= {
        f"{name.replace('.', '/')}.py" for name in code_spans(page, r"python -m (tests.*?) .*")
    }
    missing = [name for name in named - EXAMPLES if not (ROOT / name).exists()]
    assert not missing, f"{page.name}: {missing}"


@each_page
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[\w-]*)?\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing, f"{page.name}: {missing}"


@each_page
def test_python_names_exist(page):
    named = code_spans(page, r"(mmalign(?:\.\w+)+)(?:\(.*\))?")
    missing = [name for name in named if not exists(name)]
    assert not missing, f"{page.name}: {missing}"


@each_page
def test_tests_exist(page):
    missing = [name for name in code_spans(page, r"(test_\w+)") if f"def {name}" not in TESTS]
    assert not missing, f"{page.name}: {missing}"


def test_the_paper_s_equations_and_baselines_have_a_home():
    (page,) = [page for page in PAGES if page.name == "paper.md"]
    assert len(code_spans(page, r"(mmalign(?:\.\w+)+)")) >= 15


def test_names_in_docstrings_and_comments_exist():
    for file in (ROOT / "src").rglob("*.py"):
        named = set(
            re.findall(r"`(?:[^`\n]* )?(mmalign(?:\.\w+)+)", file.read_text(encoding="utf-8"))
        )
        missing = [name for name in named if not exists(name)]
        assert not missing, f"{file.name}: {missing}"


def test_names_are_found_and_missed():
    assert exists("mmalign.model.backbone.Backbone.imputed")
    assert not exists("mmalign.model.backbone.Backbone.imagined")
    assert not exists("mmalign.model.spine")


def exists(name: str) -> bool:
    """Whether a dotted name can be imported, or reached from what can be."""
    found: Any = import_module("mmalign")
    path = Path("mmalign")
    for part in name.split(".")[1:]:
        path /= part
        if hasattr(found, part):
            found = getattr(found, part)
            continue
        try:
            found = import_module(".".join(path.parts))
        except ModuleNotFoundError:
            return False
    return True
