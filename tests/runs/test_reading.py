"""A network in a file reads clips without torch as the whole model does."""

from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load, save

import mmalign
from mmalign.runs.reading import reading_of
from tests.predictor.test_reader import KINDS, clips_of
from tests.training.joint import TINY, restless, whole_twin, with_holes

HOLES = with_holes(whole_twin())
STRONG = {k: v for k, v in KINDS["strong"].items() if k not in ("centre", "differences")}


def pair_of(**settings):
    two = whole_twin(2)
    pair = mmalign.MMAlign("m2", "m1", **{**TINY, **settings})
    return restless(pair.fit(two["train"], valid=two["valid"]))


@pytest.fixture(scope="module")
def pair():
    return pair_of()


def assert_same(model, clips) -> None:
    split = model.prepared(clips)
    expected = model.fitted.outputs(split)
    labels, shares = reading_of(model.saved()).answers(split)[1:]
    np.testing.assert_allclose(shares, expected.softmax(dim=-1).numpy(), atol=1e-5)
    assert (labels == expected.argmax(dim=-1).numpy()).all()


@pytest.mark.parametrize("settings", [{"method": "mmalign"}, STRONG, KINDS["wide"]])
def test_networks_of_three_modalities(settings):
    model = restless(mmalign.MMAlign(**{**TINY, **settings}).fit(HOLES))
    model.fitted.model.backbone.learn_gaps(["m1"])
    assert_same(restless(model), clips_of(model, 30, 20))


def test_a_pair_with_a_gate(pair):
    clips = clips_of(pair, 20, 20, all_have=("m2",))
    assert_same(pair, clips)
    pair.fitted.model.gate.fill_(0.3)
    assert_same(pair, clips)
    pair.fitted.model.gate.fill_(1.0)
    assert reading_of(pair.saved()).pair == ("m2", "m1")


def test_numbers_are_in_the_terms_of_the_labels():
    two = whole_twin(2)
    clips = [dict(clip.sequences, label=10.0 + n) for n, clip in enumerate(two["train"])]
    model = mmalign.MMAlign("m2", "m1", **TINY).fit(clips)
    split = model.prepared(clips_of(model, 9, 12, all_have=("m2",)))
    expected = model.fitted.to_labels(model.fitted.outputs(split))
    found = reading_of(model.saved()).answers(split)
    assert found.shares is None
    np.testing.assert_allclose(found.labels, expected, atol=1e-4)


@pytest.mark.parametrize(
    "settings",
    [{"method": "copy"}, {"members": 2}, {"centre": "m1"}, {"attention_band": 4}],
    ids=lambda settings: next(iter(settings)),
)
def test_what_it_takes_torch_for(settings):
    assert reading_of(pair_of(**settings).saved()) is None


def test_experts_are_none():
    assert reading_of(mmalign.MMAlign(epochs=1).fit(HOLES["train"]).saved()) is None


def test_clips_that_are_too_long_and_answers_that_are_not_finite(pair):
    reading = reading_of(pair.saved())
    for steps in (np.ones((513, 3), np.float32), np.full((3, 3), 3e38, np.float32)):
        assert reading.answers(pair.prepared({"m2": steps})) is None


def test_arrays_that_do_not_fit_are_left_to_the_whole_model(pair):
    saved = pair.saved()
    arrays = load(saved.weights)
    name = "backbone.head.0.bias"
    damaged = [
        {k: v for k, v in arrays.items() if k != name},
        {**arrays, "another": arrays[name]},
        {**arrays, name: arrays[name][:-1].copy()},
        {**arrays, name: arrays[name].astype(np.float64)},
        {**arrays, "length_ratio": np.array(np.nan)},
        {**arrays, "length_ratio": np.array(1e9)},
    ]
    for weights in damaged:
        assert reading_of(replace(saved, weights=save(weights))) is None
    assert reading_of(replace(saved, weights=saved.weights[:50])) is None
    for wrong in ({"encoder_layers": 1 << 40}, {"dim": 1 << 20}, {"window": 9}, {"dim": "x"}):
        settings = {**saved.settings, "config": {**saved.settings["config"], **wrong}}
        assert reading_of(replace(saved, settings=settings)) is None
    for lost in ("config", "task", "features", "victim"):
        settings = {k: v for k, v in saved.settings.items() if k != lost}
        assert reading_of(replace(saved, settings=settings)) is None
