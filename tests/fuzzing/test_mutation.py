"""Tests of the alignment and of what goes missing fail where the source is changed."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzzing import mutation
from tests.fuzzing.mutation import ROOT, code_of, equivalent, places, succeeds


def test_there_are_places_to_change():
    found = places()
    assert len(found) > 300
    assert len({place.file for place in found}) > 12


def test_a_change_has_one_place():
    names = Counter(place.name for place in places())
    assert names.most_common(1)[0][1] == 1


def test_the_new_code_of_a_function_is_found_in_its_file():
    inside = [place for place in places() if place.function]
    files = {place.file for place in inside}
    codes = {file: compile((ROOT / file).read_text(), file, "exec") for file in files}
    for place in inside:
        code = code_of(place, codes[place.file])
        assert code.co_qualname == place.function
        assert code.co_firstlineno <= place.line


def test_each_equivalent_mutant_is_a_change_of_today_s_source_and_has_a_reason():
    gone = set(equivalent()) - {place.name for place in places()}
    assert gone == set(), "edit or remove these entries of equivalent_mutants.toml"
    assert all(len(reason) > 20 for reason in equivalent().values())


def test_a_mutant_that_never_ends_is_noticed(monkeypatch):
    def spin():
        while True:
            pass

    monkeypatch.setattr(mutation, "CORE_SECONDS", 1)
    assert succeeds(lambda: True)
    assert not succeeds(lambda: False)
    assert not succeeds(spin)


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
