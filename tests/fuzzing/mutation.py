"""Change one operator or number of the source at a time and see that a test fails.

Run: `python tests/fuzzing/mutation.py MUTANTS SEED [SKIPPED] [--only TEXT]`, which prints how many
were killed, and the survivors. A seed orders all places, of which so many are left out and so many
are taken; with a text only those whose line in the output contains it. Mutants that
`equivalent_mutants.toml` names with a reason are never tried.

A copy of the checkout is changed, never the checkout itself. The tests of a mutant run in a fork of
this process, which has imported what is large but nothing of mmalign, those of the changed module
first and the slowest files last: most mutants die in a second or two.
"""

import argparse
import ast
import importlib
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
TARGETS = {
    "src/mmalign/align": ("tests/align", "src/mmalign/align"),
    "src/mmalign/data/missingness": ("tests/data/missingness", "src/mmalign/data/missingness"),
}
SWAPS: dict[type, type] = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
}
SECOND = {"portable": "solver", "portable_newton": "newton_rule", "scored_band": "newton_rule"}
"""Whose tests are the next to notice, after a module's own: those in which both paths agree."""
CORE_SECONDS = 200
SECONDS = 3600
BYTES = 16 << 30
"""A mutant that computes or waits for ever, or fills the memory, is noticed, too."""
LARGE = (
    *("torch", "numba", "scipy.stats", "scipy.optimize", "pyarrow.parquet", "pytest"),
    *("hypothesis.extra.numpy", "beartype", "jaxtyping"),
)


@dataclass(frozen=True)
class Place:
    """Where the source can be changed: the nth place of a file, its line, and the change."""

    file: str
    number: int
    line: int
    text: str
    change: str

    def __str__(self) -> str:
        return f"{self.file} line {self.line}: {self.change}"

    @property
    def name(self) -> tuple[str, str, str]:
        """What stays the same when other lines are edited."""
        return self.file, self.text, self.change


class Changer(ast.NodeTransformer):
    """Changes the place of a given number, and counts all places; annotations have none."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.found: list[tuple[int, str]] = []

    def _is_it(self, node: ast.AST, change: str) -> bool:
        self.found.append((node.lineno, change))
        return len(self.found) - 1 == self.wanted

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) in SWAPS and self._is_it(node, type(node.op).__name__):
            node.op = SWAPS[type(node.op)]()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self._is_it(node, type(node.op).__name__):
            node.op = SWAPS[type(node.op)]()
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        for place, operator in enumerate(node.ops):
            if type(operator) in SWAPS and self._is_it(node, type(operator).__name__):
                node.ops[place] = SWAPS[type(operator)]()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not | ast.Invert) and self._is_it(node, "not"):
            return node.operand
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        is_number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        if is_number and self._is_it(node, f"{node.value} + 1"):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        returns, node.returns = node.returns, None
        self.generic_visit(node)
        node.returns = returns
        return node


def places() -> list[Place]:
    """Every place that can be changed; compiled kernels are left to what calls them."""
    files = [file for folder in TARGETS for file in sorted((ROOT / folder).glob("*.py"))]
    return [place for file in files for place in places_of(file)]


def places_of(file: Path) -> list[Place]:
    """The places of a file; a change that a line can have twice is numbered."""
    text = file.read_text()
    lines = text.splitlines()
    changer = Changer(-1)
    changer.visit(ast.parse(text))
    name, seen, found = str(file.relative_to(ROOT)), Counter[tuple[str, str]](), []
    for number, (line, change) in enumerate(changer.found):
        key = lines[line - 1].strip(), change
        seen[key] += 1
        told = change if seen[key] == 1 else f"{change} ({seen[key]})"
        found.append(Place(name, number, line, key[0], told))
    return found


def equivalent() -> dict[tuple[str, str, str], str]:
    """Changes that nothing can notice, by the name of their place, and why."""
    entries = tomllib.loads(EQUIVALENT.read_text())["mutant"]
    return {(e["file"], e["line"], e["change"]): e["reason"] for e in entries}


def tests_of(copy: Path, name: str, order: list[str]) -> list[list[str]]:
    """The tests and doctests of the file itself, and then those of its package in an order."""
    folders = folders_of(name)
    stem = Path(name).stem
    own = [f"{folders[0]}/test_{tested}.py" for tested in (stem, SECOND.get(stem))]
    own = [test for test in [*own, name] if (copy / test).exists()]
    return [own, [test for test in order if test.startswith(folders) and test not in own]]


def folders_of(name: str) -> tuple[str, ...]:
    """Where the tests of a file's package are."""
    return next(tests for folder, tests in TARGETS.items() if name.startswith(folder))


def quickest_first(copy: Path) -> list[str]:
    """The files of tests, all of which must pass; those in subfolders belong to other modules."""
    seconds = {}
    for tests, source in TARGETS.values():
        for test in [*sorted((copy / tests).glob("test_*.py")), copy / source]:
            start, name = time.perf_counter(), str(test.relative_to(copy))
            assert pass_all(copy, [name]), f"{name} fails without any change"
            seconds[name] = time.perf_counter() - start
    return sorted(seconds, key=seconds.__getitem__)


def is_killed(copy: Path, place: Place, order: list[str]) -> bool:
    """Whether the tests of its package fail with the changed file."""
    file = copy / place.file
    original = file.read_text()
    tree = Changer(place.number).visit(ast.parse(original))
    file.write_text(ast.unparse(ast.fix_missing_locations(tree)))
    try:
        return not all(pass_all(copy, tests) for tests in tests_of(copy, place.file, order))
    finally:
        file.write_text(original)


def pass_all(copy: Path, tests: list[str]) -> bool:
    """Whether tests pass in the copy as it is."""
    child = os.fork()
    if child == 0:
        _test(copy, tests)
    return os.waitpid(child, 0)[1] == 0


def _test(copy: Path, tests: list[str]) -> None:
    """Be the process that tests a mutant: it ends with 0 if all of its tests pass."""
    import pytest

    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (CORE_SECONDS, CORE_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    os.chdir(copy)
    # Neither this process nor what it starts may leave bytecode of a mutant for the next one.
    sys.dont_write_bytecode = True
    os.environ.update(PYTHONPATH=str(copy / "src"), PYTHONDONTWRITEBYTECODE="1")
    sys.path[:0] = [str(copy / "src"), str(copy)]
    options = ["-x", "-q", "-m", "not nightly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    code = 1
    try:
        code = int(pytest.main([*options, *tests]))
    finally:
        os._exit(code)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mutants", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("skipped", type=int, nargs="?", default=0)
    parser.add_argument("--only", default="")
    wanted = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    here = Path(__file__).parent  # whose coverage.py is not the library of that name
    sys.path[:] = [place for place in sys.path if Path(place).absolute() != here]
    for name in LARGE:
        importlib.import_module(name)
    found, known = places(), equivalent()
    left = [place for place in found if place.name not in known and wanted.only in str(place)]
    random.Random(wanted.seed).shuffle(left)
    chosen = left[wanted.skipped : wanted.skipped + wanted.mutants]
    with tempfile.TemporaryDirectory() as folder:
        survivors = survivors_of(chosen, Path(folder) / "copy")
    answer = {
        "places": len(found),
        "equivalent": sum(place.name in known for place in found),
        "tried": len(chosen),
        "killed": len(chosen) - len(survivors),
        "of": {folder: counts(folder, chosen, survivors) for folder in TARGETS},
        "survivors": [str(place) for place in survivors],
    }
    sys.stdout.write(json.dumps(answer) + "\n")


def survivors_of(chosen: list[Place], copy: Path) -> list[Place]:
    """Those that no test notices; tells of each place as soon as that is known."""
    ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", "site", "notebooks", "images")
    shutil.copytree(ROOT, copy, ignore=ignored)
    order, survivors = quickest_first(copy), []
    for place in chosen:
        is_dead = is_killed(copy, place, order)
        survivors += [] if is_dead else [place]
        sys.stderr.write(f"{'killed' if is_dead else 'SURVIVED'}: {place}\n")
    return survivors


def counts(folder: str, chosen: list[Place], survivors: list[Place]) -> str:
    """How many of a package's mutants were killed."""
    tried, left = (sum(p.file.startswith(folder) for p in all_) for all_ in (chosen, survivors))
    return f"{tried - left} of {tried} killed"


if __name__ == "__main__":
    main()
