"""The imputer that CONTRIBUTING shows keeps the contract."""

import re
from pathlib import Path

from mmalign.checks import check_imputer


def test_the_example_imputer_passes_the_checks():
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
    code, _row = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict = {}
    exec(code, names)
    check_imputer(names["LastStep"](), dim=8)
