"""Every benchmark tells what it measures, and its options, before it measures anything."""

import pytest

from tests.docs.pages import ROOT
from tests.forked import Forked

SCRIPTS = sorted((ROOT / "benchmarks").glob("bench_*.py"))
RUN = """
import runpy, sys
sys.path.insert(0, {folder!r})
runpy.run_path({file!r}, run_name='__main__')
"""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_benchmark_answers_help_with_its_first_line(script):
    code = RUN.format(folder=str(script.parent), file=str(script))
    done = Forked(code, ["--help"]).done(60)
    assert done.returncode == 0, done.stderr
    first = script.read_text(encoding="utf-8").split('"""')[1].splitlines()[0]
    assert " ".join(first.split()) in " ".join(done.stdout.split())
