"""Change one operator or number of the source at a time and see that a test fails.

Run: `python tests/fuzzing/mutation.py MUTANTS SEED [SKIPPED] [--only TEXT]`, which prints how many
were killed, and the survivors. A seed orders all places, of which so many are left out and so many
are taken; with a text only those whose line in the output contains it. Mutants that
`equivalent_mutants.toml` names with a reason are never tried.

A copy of the checkout is changed, never the checkout itself. The tests of a mutant run in a fork,
those of the changed module first, and quick ones before slow ones, until one fails. Where a
function has changed, the fork is one of a process that has collected all tests of the package, and
the function gets its new code there. Where anything else has, such as a constant that others may
have imported, and where no test has noticed, it is one of a process that has imported nothing yet.
"""

import argparse
import ast
import gc
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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

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
SECOND = {"compiled": "solver", "portable": "solver", "inputs": "solver"}
SECOND |= {"portable_newton": "newton_rule", "scored_band": "newton_rule"}
"""Whose tests are the next to notice, after a module's own."""
CORE_SECONDS = 60
SECONDS = 3600
BYTES = 10 << 30
"""A mutant that computes or waits for ever, or fills the memory, is noticed, too."""
NO_ANSWER = 77
"""The exit code of a fork that could not even try."""
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
    function: str
    """The function or method in whose body it is, or nothing."""

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
        self.found: list[tuple[int, str, str]] = []
        self.classes: list[str] = []
        self.function = ""

    def _is_it(self, node: ast.AST, change: str) -> bool:
        self.found.append((node.lineno, change, self.function))
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

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.classes.append(node.name)
        self.generic_visit(node)
        self.classes.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.args = self.visit(node.args)
        outer = self.function
        self.function = outer or ".".join([*self.classes, node.name])
        node.body = [self.visit(statement) for statement in node.body]
        self.function = outer
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
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
    for number, (line, change, function) in enumerate(changer.found):
        key = lines[line - 1].strip(), change
        seen[key] += 1
        told = change if seen[key] == 1 else f"{change} ({seen[key]})"
        found.append(Place(name, number, line, key[0], told, function))
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


@contextmanager
def changed(copy: Path, place: Place) -> Iterator[CodeType]:
    """The file with its change for a while, and as if it had never been touched afterwards."""
    file = copy / place.file
    original, stamp = file.read_text(), file.stat()
    tree = ast.fix_missing_locations(Changer(place.number).visit(ast.parse(original)))
    file.write_text(ast.unparse(tree))
    try:
        yield compile(tree, str(file), "exec")
    finally:
        file.write_text(original)
        os.utime(file, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


class Nursery:
    """A plugin of pytest: runs what was collected once for each mutant, each time in a fork."""

    def __init__(self, copy: Path, wanted: list[Place], answer: Path) -> None:
        self.copy, self.wanted, self.answer = copy, wanted, answer
        self.told = os.fdopen(os.dup(2), "w", buffering=1)

    def pytest_runtestloop(self, session: Any) -> bool:
        """Say which places no test notices, and which files of tests are quick."""
        is_sound = succeeds(run_items, session, session.items, self.answer)
        assert is_sound, "tests fail without any change"
        seconds = json.loads(self.answer.read_text())
        functions, survivors = functions_in(self.copy), []
        for number, place in enumerate(self.wanted):
            own = tests_of(self.copy, place.file, [])[0]
            items = sorted(session.items, key=lambda i: (file_of(i) not in own, seconds[i.nodeid]))
            with changed(self.copy, place) as code:
                known = functions[place.file, place.function]
                is_dead = not succeeds(run_changed, session, items, known, code_of(place, code))
            if is_dead:
                tell(self.told, place, is_dead)
            else:
                survivors.append(number)
        files = Counter[str]()
        for item in session.items:
            files[file_of(item)] += seconds[item.nodeid]
        order = sorted(files, key=files.__getitem__)
        self.answer.write_text(json.dumps({"order": order, "survivors": survivors}))
        return True


def run_items(session: Any, items: list[Any], seconds: Path | None = None) -> bool:
    """Whether all tests pass, up to the first that does not; notes how long each one took."""
    taken = {}
    for item, following in zip(items, [*items[1:], None], strict=True):
        start = time.perf_counter()
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        taken[item.nodeid] = time.perf_counter() - start
        if session.testsfailed:
            return False
    if seconds:
        seconds.write_text(json.dumps(taken))
    return True


def functions_in(copy: Path) -> dict[tuple[str, str], list[FunctionType]]:
    """The functions of the copy that are there by now, by file and name."""
    gc.unfreeze()
    found = defaultdict(list)
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename.startswith(str(copy)):
            file = Path(each.__code__.co_filename).relative_to(copy)
            found[str(file), each.__code__.co_qualname].append(each)
    gc.freeze()
    return dict(found)


def code_of(place: Place, code: CodeType) -> CodeType:
    """The code of a place's function in that of its file."""
    for name in place.function.split("."):
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
    return code


def run_changed(
    session: Any, items: list[Any], functions: list[FunctionType], code: CodeType
) -> bool:
    """Whether all tests pass where functions have other code."""
    for function in functions:
        function.__code__ = code
    return run_items(session, items)


def file_of(item: Any) -> str:
    """The file of a test."""
    return str(item.nodeid).partition("::")[0]


def tell(stream: Any, place: Place, is_dead: bool) -> None:
    """Say what became of a mutant as soon as it is known."""
    stream.write(f"{'killed' if is_dead else 'SURVIVED'}: {place}\n")


def succeeds(do: Callable[..., bool], *arguments: Any) -> bool:
    """Whether a fork of this process does what it is told, within limits."""
    return in_fork(limited, do, *arguments)


def limited(do: Callable[..., bool], *arguments: Any) -> bool:
    """Do it, but neither for ever nor with all of the memory."""
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (CORE_SECONDS, CORE_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    return do(*arguments)


def run_pytest(copy: Path, tests: list[str], *plugins: object) -> bool:
    """Whether pytest in the copy, as it is, ends well."""
    import pytest

    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    os.chdir(copy)
    # Neither this process nor what it starts may leave bytecode of a mutant for the next one.
    sys.dont_write_bytecode = True
    os.environ.update(PYTHONPATH=str(copy / "src"), PYTHONDONTWRITEBYTECODE="1")
    sys.path[:0] = [str(copy / "src"), str(copy)]
    options = ["-x", "-q", "-s", "-m", "not nightly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return pytest.main([*options, *tests], plugins=plugins) == 0


def survivors_of(chosen: list[Place], copy: Path) -> list[Place]:
    """Those that no test notices."""
    survivors = []
    for folder in TARGETS:
        places = [place for place in chosen if place.file.startswith(folder)]
        if places:
            survivors += survivors_in(folder, places, copy)
    return survivors


def survivors_in(folder: str, chosen: list[Place], copy: Path) -> list[Place]:
    """Those of one package: first what is in functions, and then all else.

    What survives as a function's new code is tried as all else once more: it may have run before.
    """
    inside = [place for place in chosen if place.function]
    answer = copy.parent / "answer.json"
    tests, source = TARGETS[folder]
    files = [str(file.relative_to(copy)) for file in sorted((copy / tests).glob("test_*.py"))]
    nursery = Nursery(copy, inside, answer)
    assert in_fork(run_pytest, copy, [*files, source], nursery), f"the tests of {folder} fail"
    found = json.loads(answer.read_text())
    survivors, left = [], [inside[number] for number in found["survivors"]]
    for place in left + [place for place in chosen if not place.function]:
        with changed(copy, place):
            tests = tests_of(copy, place.file, found["order"])
            is_dead = not all(succeeds(run_pytest, copy, files) for files in tests)
        survivors += [] if is_dead else [place]
        tell(sys.stderr, place, is_dead)
    return survivors


def in_fork(do: Callable[..., bool], *arguments: Any) -> bool:
    """Whether a fork of this process does what it is told, however long that takes."""
    child = os.fork()
    if child == 0:
        code = NO_ANSWER
        try:
            code = int(not do(*arguments))
        finally:
            os._exit(code)
    status = os.waitpid(child, 0)[1]
    assert os.waitstatus_to_exitcode(status) != NO_ANSWER, f"{do.__name__} failed by itself"
    return status == 0


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
        copy = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", "site", "notebooks", "images")
        shutil.copytree(ROOT, copy, ignore=ignored)
        survivors = survivors_of(chosen, copy)
    answer = {
        "places": len(found),
        "equivalent": sum(place.name in known for place in found),
        "tried": len(chosen),
        "killed": len(chosen) - len(survivors),
        "of": {folder: counts(folder, chosen, survivors) for folder in TARGETS},
        "survivors": [str(place) for place in survivors],
    }
    sys.stdout.write(json.dumps(answer) + "\n")


def counts(folder: str, chosen: list[Place], survivors: list[Place]) -> str:
    """How many of a package's mutants were killed."""
    tried, left = (sum(p.file.startswith(folder) for p in all_) for all_ in (chosen, survivors))
    return f"{tried - left} of {tried} killed"


if __name__ == "__main__":
    main()
