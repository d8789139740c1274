"""Every DataError says what to do about it."""

import ast
from pathlib import Path

import mmalign

SOURCE = Path(mmalign.__file__).parent


def errors_without_a_fix(source: str) -> list[int]:
    """Lines on which a DataError is made without `fix`; `**place` alone does not count as one."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name | ast.Attribute)
        and (node.func.id if isinstance(node.func, ast.Name) else node.func.attr) == "DataError"
        and not any(keyword.arg == "fix" for keyword in node.keywords)
    ]


def test_the_rule_sees_what_it_should():
    assert errors_without_a_fix("raise DataError('x', file=f)\nraise errors.DataError('x')") == [
        1,
        2,
    ]
    assert errors_without_a_fix("raise DataError('x', fix='y', **place)") == []
    assert errors_without_a_fix("raise DataError('x', **place)") == [1]


def test_every_data_error_says_how_to_fix_it():
    found = [
        f"{file.relative_to(SOURCE)}:{line}"
        for file in sorted(SOURCE.rglob("*.py"))
        for line in errors_without_a_fix(file.read_text())
    ]
    assert found == []
