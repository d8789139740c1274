"""Change one operator or number of the source at a time and see that a test fails.

Run: `python tests/fuzzing/mutation.py MUTANTS SEED [SKIPPED]`, which prints how many were killed,
and the survivors. A seed orders all places, of which so many are left out and so many are taken. A
copy of the checkout is changed, never the checkout itself. The tests of a mutant run in a fork of
this process, which has imported what is large but nothing of mmalign, those of the changed module
first: most mutants die in a second or two.
"""

import ast
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
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
FIRST = {"portable": "newton_rule", "portable_newton": "newton_rule", "scored_band": "newton_rule"}
"""Whose tests are the first to notice where a module has none of its own: both paths agree."""
SECONDS = 600
LARGE = (
    *("torch", "numba", "scipy.stats", "scipy.optimize", "pyarrow.parquet", "pytest"),
    *("hypothesis.extra.numpy", "beartype", "jaxtyping"),
)


class Changer(ast.NodeTransformer):
    """Changes the place of a given number, and counts all places; annotations have none."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.count = 0
        self.told = ""

    def _is_it(self, node: ast.AST, told: str) -> bool:
        self.count += 1
        if self.count - 1 != self.wanted:
            return False
        self.told = f"line {node.lineno}: {told}"
        return True

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


def places() -> list[tuple[str, int]]:
    """Every place that can be changed; compiled kernels are left to what calls them."""
    found = []
    for folder in TARGETS:
        for file in sorted((ROOT / folder).glob("*.py")):
            changer = Changer(-1)
            changer.visit(ast.parse(file.read_text()))
            name = str(file.relative_to(ROOT))
            found += [(name, number) for number in range(changer.count)]
    return found


def tests_of(copy: Path, name: str) -> list[list[str]]:
    """The tests of the file itself, and then all of its package: most mutants die of the first."""
    whole = next(tests for folder, tests in TARGETS.items() if name.startswith(folder))
    stem = Path(name).stem
    own = [f"{folder}/test_{FIRST.get(stem, stem)}.py" for folder in whole]
    return [[test for test in own if (copy / test).exists()], [*whole]]


def is_killed(copy: Path, name: str, number: int) -> tuple[bool, str]:
    """Whether the tests of its package fail with the changed file; and what was changed."""
    file = copy / name
    original = file.read_text()
    changer = Changer(number)
    tree = changer.visit(ast.parse(original))
    file.write_text(ast.unparse(ast.fix_missing_locations(tree)))
    try:
        is_dead = not all(pass_all(copy, tests) for tests in tests_of(copy, name) if tests)
    finally:
        file.write_text(original)
    return is_dead, f"{name} {changer.told}"


def pass_all(copy: Path, tests: list[str]) -> bool:
    """Whether tests pass in the copy as it is."""
    child = os.fork()
    if child == 0:
        _test(copy, tests)
    return os.waitpid(child, 0)[1] == 0


def _test(copy: Path, tests: list[str]) -> None:
    """Be the process that tests a mutant: it ends with 0 if all of its tests pass."""
    import pytest

    signal.alarm(SECONDS)  # a mutant that never ends is noticed, too
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
    mutants, seed, skipped = map(int, [*sys.argv[1:], "0"][:3])
    os.environ["OMP_NUM_THREADS"] = "1"
    here = Path(__file__).parent  # whose coverage.py is not the library of that name
    sys.path[:] = [place for place in sys.path if Path(place).absolute() != here]
    for name in LARGE:
        importlib.import_module(name)
    found = places()
    random.Random(seed).shuffle(found)
    chosen = found[skipped : skipped + mutants]
    killed, survivors = 0, []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", "site", "notebooks", "images")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for tests in TARGETS.values():
            assert pass_all(copy, [*tests]), f"{tests} fail without any change"
        for name, number in chosen:
            is_dead, told = is_killed(copy, name, number)
            killed += is_dead
            survivors += [] if is_dead else [told]
            sys.stderr.write(f"{'killed' if is_dead else 'SURVIVED'}: {told}\n")
    answer = {"places": len(found), "tried": len(chosen), "killed": killed, "survivors": survivors}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
