"""Odd arguments are solved as meant, or refused as an alignment problem; none escapes."""

import json
import subprocess
import sys
from pathlib import Path


def test_odd_arguments_are_taken_or_refused_in_one_way():
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("odd_arguments.py"))],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["cases"] > 90
