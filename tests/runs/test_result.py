"""Settings A and B from one training run."""

from mmalign.training import loop
from tests.training.small import PAIR, small_config, small_dataset, train_both_settings


def test_validation_is_scored_with_the_gate_that_was_chosen(monkeypatch):
    monkeypatch.setattr(loop, "choose_gate", lambda found, _: found.model.gate.fill_(0.0))
    config = small_config(method="dynamic-window", gate=True)
    done = train_both_settings(small_dataset(), config, **PAIR, survival=0.5)
    recorded = {
        setting: done.history[found["best_epoch"] - 1]["valid"][setting]["loss"]
        for setting, found in done.settings.items()
    }
    valid = {s: found["metrics"]["valid"]["loss"] for s, found in done.settings.items()}
    assert valid["B"] != recorded["B"]
    assert valid["A"] == recorded["A"]  # no victim that a gate could shut out
