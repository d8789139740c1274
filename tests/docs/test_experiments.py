"""The page about experiments shows Python that runs, and commands that exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mmalign.experiments.suites import SUITES

PAGE = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")


def test_every_suite_is_explained():
    rows = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(SUITES) <= named


@pytest.mark.nightly
def test_the_python_runs(tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    quick = block.replace('methods=["lb"', 'settings={"epochs": 1}, methods=["lb"')
    assert quick != block
    command = [sys.executable, "-c", quick]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^(LB|MM-Align) 0\.[15] 0\.\d+$", done.stdout, re.MULTILINE)) == 8
