"""The page of the speed benchmark shows what was measured, and nothing of others."""

from html.parser import HTMLParser

from benchmarks.speed_page import render

TIMES = {"median": 0.002, "fastest": 0.001, "slowest": 0.004}
RESULTS = {
    "torch": "2",
    "python": "3",
    "parts": {
        "a": {
            "title": "one <clip>",
            "command": "run it",
            "contenders": {"ours": TIMES, "theirs": {**TIMES, "median": 0.02}},
            "at_least": {"theirs": 20},
        },
        "b": {
            "title": "growth",
            "command": "run it",
            "curves": [{"name": "p", "steps": [10, 100], "seconds": [0.1, 1.0], "exponent": 1.0}],
        },
        "c": {
            "title": "cost",
            "command": "run it",
            "costs": {"train": {"seconds": 3, "megabytes": 2500}},
            "shares": {"encode": 0.25},
        },
    },
}


def test_the_page_says_ratios_verdicts_exponents_and_costs():
    page = render(RESULTS)
    for text in ("one &lt;clip&gt;", "10x", "at least 20x: missed", "p: 1.00", "2.50 GB", "25 %"):
        assert text in page
    reached = {**RESULTS["parts"]["a"], "at_least": {"theirs": 10}}
    assert "at least 10x: reached" in render({**RESULTS, "parts": {"a": reached}})


def test_the_page_asks_nobody_for_anything():
    page = render(RESULTS)
    assert "http" not in page
    assert "<script" not in page
    HTMLParser().feed(page)
