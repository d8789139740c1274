"""docs/performance.md says what was measured."""

import json

import pytest
from benchmarks.speed_tables import RESULTS, tables

from tests.docs.pages import ROOT

TIMES = {"median": 0.002, "fastest": 0.0001, "slowest": 0.04}
PART = {"title": "one clip", "contenders": {"ours": TIMES, "theirs": {**TIMES, "median": 0.02}}}


def test_the_page_has_every_line_of_the_tables():
    page = (ROOT / "docs" / "performance.md").read_text().splitlines()
    missing = [line for line in tables(json.loads(RESULTS.read_text())) if line not in page]
    assert not missing


@pytest.mark.parametrize(("bar", "verdict"), [(10, "10x: reached"), (11, "11x: missed")])
def test_a_line_says_times_ratio_and_verdict(bar, verdict):
    (line,) = tables({"parts": {"clip": {**PART, "at_least": {"theirs": bar}}}})
    assert line == (
        f"| `clip` | one clip | 2.0 ms [0.10, 40] | theirs | 20 ms [0.10, 40] | 10.0x | {verdict} |"
    )


def test_a_bar_below_one_is_how_much_longer_ours_may_take():
    part = {**PART, "at_least": {"theirs": 0.2}}
    (line,) = tables({"parts": {"training": part}})
    assert line.endswith("| 0.1 times as long | 5 times: reached |")
