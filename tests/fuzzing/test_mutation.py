"""Tests of the alignment and of what goes missing fail where the source is changed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzzing.mutation import places


def test_there_are_places_to_change():
    found = places()
    assert len(found) > 300
    assert len({name for name, _ in found}) > 12


@pytest.mark.nightly
def test_changes_of_the_source_are_noticed(record_property):
    wanted = int(os.environ.get("MMALIGN_MUTANTS", "200"))
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("mutation.py")), str(wanted), "0"],
        capture_output=True,
        text=True,
        timeout=600 * wanted,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    record_property("figure", f"{found['killed']} of {found['tried']} mutants killed")
    assert found["killed"] >= 0.95 * found["tried"], found["survivors"]
