"""The study of experts says who is better, whichever way its scores are read."""

from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)  # a script, which imports the files beside it
    return import_module("experts")


def rows_of(title, sureness, scores):
    task = {"study": title, "fold": 0, "victim": "", "survival": 1}
    for system, found in scores.items():
        own = {"cpu_seconds": 1.0} | sureness if system == "experts" else {}
        for seed, value in enumerate(found):
            named = {"system": system, "scores": {"signal": value}, "facts": own}
            yield task | named | {"seed": seed}


def test_less_is_better_where_labels_are_numbers(study, capsys):
    """An MAE of ten or more was taken for an accuracy, and an accuracy below ten for an MAE."""
    scores = {"experts": [11.0, 11.1], "MiniRocket": [13.0, 13.1]}
    study.show(list(rows_of("weights", {}, scores)))
    text = capsys.readouterr().out
    assert "experts 11.050 ± 0.071 (2)" in text
    assert "{'clearly better': 1}" in text
    scores = {"experts": [3.0, 3.1], "MiniRocket": [2.0, 2.1]}
    study.show(list(rows_of("faces", {"ece signal": 0.1}, scores)))
    text = capsys.readouterr().out
    assert "experts 3.0 ± 0.1 (2)" in text
    assert "{'clearly better': 1}" in text
