"""Answers that are numbers, and the gate: how much a victim counts against its imputation."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import mmalign
from mmalign.data import Protocol
from mmalign.errors import DataError
from mmalign.predictor import engine
from mmalign.predictor import predictor as prediction
from mmalign.training.losses import TrainingError
from mmalign.training.selection import choose_gate
from tests.training.small import poisoned, small_dataset

SETTINGS = {"dim": 8, "heads": 2, "window": 2, "epochs": 2, "batch_size": 16}


@pytest.fixture(scope="module")
def data():
    protocol = Protocol(visible="visible", victim="victim", survival=0.5, setting="B")
    return protocol.apply(small_dataset())


@pytest.fixture(scope="module")
def model(data):
    settings = {**SETTINGS, "method": "dynamic-window", "gate": False}
    return mmalign.MMAlign("visible", "victim", **settings).fit(data["train"], valid=data["valid"])


def test_the_gate_mixes_both_predictions(model, data):
    predictor = model.fitted
    complete = data["test"].select(np.flatnonzero(data["test"].is_present("victim")))
    without = complete.without("victim", complete.ids)
    with_victim, imputed = predictor.outputs(complete), predictor.outputs(without)
    predictor.model.gate.fill_(0.25)
    mixed = predictor.outputs(complete)
    predictor.model.gate.fill_(1.0)
    torch.testing.assert_close(mixed, 0.25 * with_victim + 0.75 * imputed)


def watched_sizes(predictor, split) -> list[int]:
    """Clips of each batch that a watch sees, and which changes nothing."""
    seen = []

    def watch(batches, total):
        for batch in batches:
            seen.append((len(batch), total))
            yield batch

    watched = replace(predictor, watch=watch).outputs(split)
    assert torch.equal(watched, predictor.outputs(split))
    assert {total for _, total in seen} == {len(seen)}
    return [size for size, _ in seen]


def test_a_watch_sees_every_batch_and_changes_nothing(model, data, monkeypatch):
    monkeypatch.setattr(prediction, "EVALUATION_BATCH", 5)
    sizes = watched_sizes(model.fitted, data["test"])
    assert sum(sizes) == len(data["test"])
    assert max(sizes) == 5


def test_an_output_that_is_no_number_is_no_prediction(model):
    """Features so large that the model overflows are finite, and pass the check of features."""
    data = small_dataset()
    huge = poisoned(data, "test", {"test-00003", "test-00007"}, "visible", 1e30)["test"]
    for ask in (model.predict, model.predict_proba, model.score, model.metrics):
        with pytest.raises(DataError, match="clip test-00003: the model's output is not finite"):
            ask(huge)


def test_a_validation_output_that_is_no_number_stops_training():
    data = poisoned(small_dataset(), "valid", {"valid-00002"}, "visible", 1e30)
    fresh = mmalign.MMAlign("visible", "victim", **SETTINGS)
    with pytest.raises(
        TrainingError, match=r"on validation clip valid-00002 after epoch 1\. Lower"
    ):
        fresh.fit(data["train"], valid=data["valid"])


def test_a_victim_that_misleads_is_shut_out(model):
    """Training labels follow the victim; where validation's victims are noise, the gate closes."""
    data = small_dataset()
    valid = data["valid"]
    noise = poisoned(data, "valid", set(valid.ids), "victim", 50.0)["valid"]
    predictor = model.fitted
    scores = {}
    for weight in (1.0, 0.75, 0.5, 0.25, 0.0):
        predictor.model.gate.fill_(weight)
        scores[weight] = predictor.evaluate(noise)["weighted_f1"]
    best = choose_gate(predictor, noise)
    assert scores[best] == max(scores.values())
    assert float(predictor.model.gate) == best
    predictor.model.gate.fill_(1.0)


def test_without_complete_clips_the_gate_stays_open(model, data):
    missing = data["valid"].without("victim", data["valid"].ids)
    assert choose_gate(model.fitted, missing) == 1.0


def test_the_gate_is_saved_with_the_model(data, tmp_path):
    model = mmalign.MMAlign("visible", "victim", **SETTINGS, method="dynamic-window")
    assert model.config.gate
    assert model.config.both_passes
    model.fit(data["train"], valid=data["valid"])
    model.fitted.model.gate.fill_(0.5)
    model.save(tmp_path / "saved")
    assert float(mmalign.load(tmp_path / "saved").fitted.model.gate) == 0.5


@pytest.fixture(scope="module")
def compiled(data):
    settings = {**SETTINGS, "dim": 16, "compiled_layers": True}
    model = mmalign.MMAlign("visible", "victim", **settings)
    return model.fit(data["train"], valid=data["valid"]).fitted


def test_a_watch_sees_groups_that_kernels_answer(compiled, data, monkeypatch):
    monkeypatch.setattr(engine, "CHUNK", 5)
    sizes = watched_sizes(compiled, data["test"])
    assert sum(sizes) == len(data["test"])
    assert max(sizes) == 5


def test_a_model_with_compiled_layers_answers_by_its_reader_within_rounding(
    compiled, data, monkeypatch
):
    predictor = compiled
    found = predictor.outputs(data["test"])
    asked = []
    monkeypatch.setattr(prediction, "fresh_reader_of", asked.append)  # there is none
    by_torch = predictor.outputs(data["test"])
    assert asked == [predictor.model]
    torch.testing.assert_close(found, by_torch, atol=1e-5, rtol=1e-5)


def test_a_model_with_torch_s_layers_never_asks_for_a_reader(model, data, monkeypatch):
    monkeypatch.setattr(prediction, "fresh_reader_of", lambda _: pytest.fail("asked"))
    assert predictor_outputs_are_finite(model.fitted, data["test"])


def predictor_outputs_are_finite(predictor, split) -> bool:
    return bool(predictor.outputs(split).isfinite().all())
