"""A live line: a sign of life from the start on a terminal, plain lines elsewhere."""

import io
import sys
from types import SimpleNamespace

import pytest

from mmalign.cli import live
from mmalign.cli.live import LiveLine, ModalityLine
from tests.test_progress import Terminal

RECORD = {"epoch": 1, "losses": {"main": 0.5}, "valid": {"A": {"accuracy": 0.25}}}
LINE = "epoch 1: valid A accuracy 0.250 | main 0.500"
TRAINING = SimpleNamespace(config=SimpleNamespace(epochs=3, warm_up_epochs=0))


@pytest.fixture
def bars(monkeypatch):
    """What was done with each bar, in order."""
    made = []

    def start(description, total, *, is_kept=False):
        events = [("start", description, total, is_kept)]
        made.append(events)
        return SimpleNamespace(
            task_ids=[0],
            update=lambda _, **shown: events.append(("show", shown["completed"])),
            stop=lambda: events.append(("stop",)),
        )

    monkeypatch.setattr(live, "start_bar", start)
    return made


def test_a_terminal_sees_a_bar_before_the_first_epoch_ends(bars, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with LiveLine(is_on=True) as line:
        assert bars == [[("start", "first epoch", None, False)]]
        line.show(RECORD, TRAINING)
        line.show(RECORD | {"epoch": 2}, TRAINING)
    assert bars[0][1:] == [("stop",)]
    assert bars[1] == [("start", "", 3, True), ("show", 1), ("show", 2), ("stop",)]


def test_a_run_that_is_refused_leaves_no_bar_behind(bars, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with LiveLine(is_on=True):
        pass
    assert bars == [[("start", "first epoch", None, False), ("stop",)]]


def test_elsewhere_there_is_one_line_an_epoch(bars, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with LiveLine(is_on=True) as line:
        line.show(RECORD, TRAINING)
    assert sys.stderr.getvalue() == LINE + "\n"
    assert not bars


def test_a_follower_shows_nothing(bars, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with LiveLine(is_on=False) as line:
        line.show(RECORD, TRAINING)
    assert not bars


def test_experts_have_one_bar_over_their_modalities(bars, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with ModalityLine(is_on=True) as line:
        for name in ("pose", "wrist", "pose+wrist"):
            line.show({"modality": name, "clips": 9, "skill": 0.5}, ["pose", "wrist"])
    shown = [("show", 1), ("show", 2), ("show", 2)]
    assert bars == [[("start", "first modality", None, False), *shown, ("stop",)]]
