"""Whatever a command runs into, it ends with one line and exit code 2."""

import io
import sys

import pytest

from mmalign.cli import main as module
from tests.cli.many import mmalign_many

NO_MEMORY = "error: not enough memory. Use shorter or fewer clips, or a smaller dim or batch_size."
TORCH = "[enforce fail at alloc_cpu.cpp:121] DefaultCPUAllocator: can't allocate memory: you tried"


def run(monkeypatch, work) -> int:
    """The exit code of a command that does this."""
    monkeypatch.setattr(module, "app", work)
    monkeypatch.setattr(module, "heed_termination", lambda: None)
    with pytest.raises(SystemExit) as stop:
        module.main()
    return stop.value.code


def raising(error: BaseException):
    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError(TORCH)], ids=["numpy", "torch"])
def test_without_memory_a_command_says_so(monkeypatch, capsys, error):
    assert run(monkeypatch, raising(error)) == 2
    assert capsys.readouterr().err == f"{NO_MEMORY}\n"


def test_other_faults_are_not_hidden(monkeypatch):
    monkeypatch.setattr(module, "app", raising(RuntimeError("shapes differ")))
    with pytest.raises(RuntimeError, match="shapes differ"):
        module.main()


def test_a_name_that_cannot_be_written_is_told(monkeypatch, capsys):
    assert run(monkeypatch, lambda: "c\udcc3".encode()) == 2
    told = capsys.readouterr().err
    assert told == "error: 'c\\udcc3' cannot be written as utf-8. Give another name.\n"


def test_a_terminal_of_another_encoding_shows_signs_as_numbers(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(module, "app", lambda: print("süß"))
    module.main()
    stream.flush()
    assert stream.buffer.getvalue() == b"s\\xfc\\xdf\n"


def test_survival_of_nothing_is_refused_in_every_form(tmp_path):
    out = ["--out", tmp_path / "out"]
    pair = ["--visible", "visible", "--victim", "victim", "--survival", "0"]
    lines = [
        ["train", "twin", *pair, *out],
        ["tune", "twin", *pair, *out],
        ["bench", "twin", "--suite", "main", "--pairs", "visible:victim", "--survival", "0", *out],
        ["train", "twin", "--survival", "visible=0,victim=0", *out],
        ["train", "twin", "--survival", "visible=nan", *out],
    ]
    for done in mmalign_many(lines):
        assert done.returncode == 2, done
        assert "surviv" in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
