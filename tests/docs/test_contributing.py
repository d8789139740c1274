"""What CONTRIBUTING says of layers, tests and imputers is true."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from mmalign.checks import check_imputer
from mmalign.estimator import MMAlign
from mmalign.experts.contract import Expert
from mmalign.imputers.contract import Imputer
from mmalign.training.methods import METHODS, Method
from tests.docs.pages import ROOT, blocks, code_spans
from tests.training.small import PAIR, small_dataset

PAGE = ROOT / "CONTRIBUTING.md"
TEXT = PAGE.read_text(encoding="utf-8")
NOT_MIRRORS = {"docs", "reference"}


def section(heading: str) -> str:
    (text,) = [part for part in TEXT.split("\n## ") if part.startswith(f"{heading}\n")]
    return text


@pytest.fixture
def last_step():
    code, _row = blocks(PAGE, "python")
    names: dict = {}
    exec(code, names)
    return names["LastStep"]


def test_the_example_of_an_expert_keeps_the_contract():
    examples = blocks(ROOT / "docs" / "experts.md", "python")
    (code,) = (block for block in examples if "Expert" in block)
    names: dict = {}
    exec(code, names)  # its last line checks it
    assert issubclass(names["MovementExpert"], Expert)


def test_the_layers_are_those_that_are_enforced():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    enforced = [
        [name.strip().removeprefix("mmalign.") for name in layer.split("|")]
        for layer in contract["layers"]
    ]
    rows = re.findall(r"^\| (`.*?) \|", section("Code layout"), re.MULTILINE)
    assert [re.findall(r"`(.*?)`", row) for row in rows] == enforced


def test_tests_mirror_the_source():
    exceptions = {ROOT / name for name in code_spans(PAGE, r"(tests/\w.*/test_\w+\.py)")}
    tests = {
        file
        for file in (ROOT / "tests").rglob("test_*.py")
        if file.relative_to(ROOT / "tests").parts[0] not in NOT_MIRRORS
    }
    alone = {file for file in tests if not is_mirror(file)}
    fix = "name it after its module, or list it in CONTRIBUTING.md"
    assert alone <= exceptions, f"{sorted(map(str, alone - exceptions))}: {fix}"


def is_mirror(file: Path) -> bool:
    """Whether a test is named after the module or the package that it tests."""
    place = file.relative_to(ROOT / "tests").parent
    name = file.stem.removeprefix("test_")
    home = ROOT / "src" / "mmalign" / place
    return (home / f"{name}.py").exists() or (home.is_dir() and home.name == name)


def test_the_example_imputer_passes_the_checks(last_step):
    check_imputer(last_step(), dim=8)


def test_the_example_row_makes_a_method_that_trains(last_step, monkeypatch):
    _code, row = blocks(PAGE, "python")
    rows = eval(f"{{{row}}}", {"Method": Method, "LastStep": last_step})
    for name, method in rows.items():
        monkeypatch.setitem(METHODS, name, method)
    data = small_dataset()
    model = MMAlign(**PAIR, method="last-step", epochs=1, dim=8, heads=2)
    assert len(model.fit(data["train"], valid=data["valid"]).predict(data["test"])) == len(
        data["test"]
    )


def test_every_method_of_the_contract_is_explained():
    methods = {name for name, value in vars(Imputer).items() if callable(value)}
    assert all(f"`{name}`" in TEXT or f"def {name}(" in TEXT for name in methods)


SOURCE = Path(__file__).parents[2] / "src"
LONGEST_FILE, LONGEST_FUNCTION = 350, 50


def test_no_file_and_no_function_is_too_long_to_read():
    """Docstrings do not count, and the signature of a command is a list of options."""
    long = []
    for file in SOURCE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if len(text.splitlines()) > LONGEST_FILE:
            long.append(str(file))
        functions = (n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef))
        long += [f"{file}: {f.name}" for f in functions if code_lines(f) > LONGEST_FUNCTION]
    assert long == []


def code_lines(node: ast.FunctionDef) -> int:
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return node.end_lineno - body[0].lineno + 1 if body else 0
