"""Nothing on a default path unpickles, executes or starts a process; and tests have no network."""

import ast
import json
import os
import pickle
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from jaxtyping import TypeCheckError

from mmalign.model.hidden import is_valid
from tests import conftest

SOURCE = Path(__file__).parents[2] / "src" / "mmalign"
MODULES = (
    "pickle",
    "cPickle",
    "dill",
    "joblib",
    "marshal",
    "shelve",
    "subprocess",
    "runpy",
    "code",
)
CALLS = ("eval", "exec", "compile", "__import__")
METHODS = {("torch", "load"), ("os", "system"), ("os", "popen"), ("numpy", "load"), ("np", "load")}
NAMED = {
    "cli/kernels.py",  # compiles kernels in a process of its own
    "data/readers/csd/sequences.py",  # starts the worker in which HDF5 may crash
    "serving/worker.py",  # talks to its own worker over a pipe that nobody else holds
}


def found_in(file: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            found.append(node.module)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found += [node.func.id] if node.func.id in CALLS else []
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = (node.value.id, node.attr)
            found += [".".join(name)] if name in METHODS else []
    return found


def test_no_source_imports_what_executes():
    files = sorted(SOURCE.rglob("*.py"))
    assert len(files) > 200
    found = {str(file.relative_to(SOURCE)): found_in(file) for file in files}
    assert {name: what for name, what in found.items() if what} == {
        name: found[name] for name in NAMED
    }


def test_nothing_asks_what_time_it_is():
    """So a clock that jumps changes nothing: intervals are measured by clocks that cannot."""
    asked = {("time", "time"), ("time", "time_ns"), ("datetime", "now"), ("datetime", "today")}
    found = [
        f"{file.name}:{node.lineno}"
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and ((node.value.id, node.attr) in asked or node.attr == "st_mtime")
    ]
    assert found == []


def test_signatures_are_checked_at_the_start_of_every_test():
    with pytest.raises(TypeCheckError):
        is_valid(torch.zeros(2, 2), 3)


def test_the_network_cannot_be_reached():
    with pytest.raises(ConnectionRefusedError, match="cannot reach the network"):
        socket.create_connection(("192.0.2.1", 80), timeout=1)
    with pytest.raises(ConnectionRefusedError, match="cannot reach the network"):
        socket.getaddrinfo("example.org", 80)


def test_the_guard_sees_what_it_is_there_to_see(monkeypatch):
    seen: list[str] = []
    monkeypatch.setattr(conftest, "SOURCE", str(Path(__file__).parent))
    monkeypatch.setattr(conftest, "forbidden", seen)
    pickle.loads(pickle.dumps(Path("x")))
    eval("1 + 1")
    subprocess.run(["true"], check=True)
    events = {line.split()[0] for line in seen}
    assert {"pickle.find_class", "exec", "compile"} <= events


def test_default_paths_raise_no_audit_event(tmp_path, record_property):
    script = Path(__file__).with_name("default_paths.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=400,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout.splitlines()[-1])
    record_property("figure", f"{answer['paths']} paths, {len(answer['events'])} audit events")
    assert answer["events"] == []
    assert answer["hook_works"]
    assert answer["paths"] >= 25
