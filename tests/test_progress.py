"""A bar appears after two seconds on a terminal, and never elsewhere."""

import io
import sys

import pytest

from mmalign import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "delay", "is_shown"),
    [
        (Terminal, 0.0, True),
        (Terminal, 60.0, False),
        (io.StringIO, 0.0, False),
    ],
)
def test_the_bar(monkeypatch, stream, delay, is_shown):
    err = stream()
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(progress, "DELAY_SECONDS", delay)
    assert list(progress.track(range(50), "counting")) == list(range(50))
    assert ("counting" in err.getvalue()) == is_shown


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_a_line_stands_alone_with_and_without_a_bar(monkeypatch, stream):
    err = stream()
    monkeypatch.setattr(sys, "stderr", err)
    display = progress.Display()
    if err.isatty():
        display.bar = progress.start_bar("busy", 3)
    display.say("[not markup] done")
    display.stop()
    lines = [line.split("\x1b[2K")[-1] for line in err.getvalue().splitlines()]
    assert "[not markup] done" in lines
