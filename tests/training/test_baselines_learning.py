"""Each baseline beats zero-fill on a synthetic twin where its assumptions hold."""

import json
import subprocess
import sys

import pytest

from tests.training.baselines_learning import BASELINES


def learned(*arguments: str) -> list[dict]:
    command = [sys.executable, "-m", "tests.training.baselines_learning", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_baseline_learns():
    (scores,) = learned()
    for method in BASELINES:
        assert scores[method] > scores["zero-fill"] + 0.05, scores


@pytest.mark.nightly
def test_every_baseline_is_clearly_better_than_zero_fill_over_seeds():
    differences = learned("6")[6:]
    assert [found["method"] for found in differences] == list(BASELINES)
    for found in differences:
        assert found["low"] > 0, found
