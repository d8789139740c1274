"""The first use on a machine says that it compiles; the second does not."""

import subprocess
from types import SimpleNamespace

import pytest

from mmalign.cli import kernels


@pytest.fixture
def runs(monkeypatch, tmp_path):
    made = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    run = lambda command, **_: made.append(command[-1]) or SimpleNamespace(returncode=1)  # noqa: E731
    monkeypatch.setattr(subprocess, "run", run)
    return made


def test_kernels_are_compiled_once_and_that_is_told(runs, tmp_path, capsys):
    kernels.compile_once()
    assert runs == ["mmalign.experts.compile"]
    assert "first use: compiling kernels for this machine" in capsys.readouterr().err
    (tmp_path / "kept.nbi").touch()
    kernels.compile_once()
    assert len(runs) == 1
    assert capsys.readouterr().err == ""
