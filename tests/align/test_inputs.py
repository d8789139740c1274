"""Odd arguments are solved as meant, or refused as an alignment problem; none escapes."""

import json

from tests.forked import run_module


def test_odd_arguments_are_taken_or_refused_in_one_way():
    done = run_module("tests.align.odd_arguments")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["cases"] > 90
