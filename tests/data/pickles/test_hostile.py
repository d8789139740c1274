"""Hostile pickles and archives execute nothing: proven by an audit hook, not by inspection."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long


def read_hostile(folder: Path, *words: str) -> dict:
    command = [sys.executable, str(Path(__file__).with_name("hostile.py")), str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    return read_hostile(tmp_path_factory.mktemp("hostile"))


@pytest.mark.nightly
def test_three_thousand_hostile_files_cause_no_audit_event(tmp_path, record_property):
    found = read_hostile(tmp_path, "all")
    record_property("figure", f"{found['files']} hostile files, {len(found['events'])} events")
    assert found["files"] >= 3000
    assert found["hook_works"]
    assert (found["events"], found["not_refused"], found["marker"]) == ([], {}, False)


def test_more_than_600_hostile_files_cause_no_audit_event(answer, record_property):
    record_property("figure", f"{answer['files']} hostile files, {len(answer['events'])} events")
    assert answer["files"] >= 600
    assert answer["hook_works"]
    assert answer["events"] == []
    assert not answer["marker"]


def test_every_hostile_file_is_refused_with_our_exception_and_its_name(answer):
    assert answer["not_refused"] == {}
    assert answer["vectors_failed"] == {}


def test_bombs_do_not_grow_the_process_and_it_still_reads(answer):
    assert answer["rss_rise_mb"] < 100
    assert answer["honest"] == "read"
