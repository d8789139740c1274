"""The first use on a machine says that it compiles; the second does not."""

import subprocess
import sys

import pytest

from mmalign.cli import kernels
from mmalign.cli.kernels import COMPILERS


class Process:
    """Remembers what was started, and whether somebody waited for it."""

    def __init__(self, command, **_):
        assert command[:2] == [sys.executable, "-m"]
        self.module, self.is_waited_for = command[2], False

    def wait(self):
        self.is_waited_for = True

    def kill(self):
        assert self.is_waited_for


@pytest.fixture
def runs(monkeypatch, tmp_path):
    made = []

    def start(command, **options):
        made.append(Process(command, **options))
        return made[-1]

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(subprocess, "Popen", start)
    return made


def test_kernels_are_compiled_once_and_that_is_told(runs, tmp_path, capsys):
    kernels.compile_once("experts", "network")
    assert [run.module for run in runs] == ["mmalign.experts.compile", "mmalign.model.compile"]
    assert all(run.is_waited_for for run in runs)
    assert "first use: compiling kernels for this machine" in capsys.readouterr().err
    (tmp_path / "taps_slopes.add_slopes-1.py311.nbi").touch()
    (tmp_path / "clip.answer-1.py311.nbi").touch()
    kernels.compile_once("experts", "network")
    assert len(runs) == 2
    assert capsys.readouterr().err == ""


def test_only_what_is_missing_is_compiled(runs, tmp_path):
    (tmp_path / "taps_slopes.add_slopes-1.py311.nbi").touch()
    kernels.compile_once(*COMPILERS)
    assert [run.module for run in runs] == ["mmalign.model.compile", "mmalign.align.compile"]


@pytest.mark.parametrize("part", COMPILERS)
def test_every_part_leaves_the_files_that_it_is_known_by(part):
    """Beside the source, where compiling ahead of the tests has put them."""
    compiler = COMPILERS[part]
    __import__(compiler.module, fromlist=["_"]).compile_kernels()
    assert kernels._is_kept(compiler.kept)
