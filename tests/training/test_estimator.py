"""MM-Align in six lines, with scikit-learn's manners."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone

import mmalign
from mmalign.data import Classification, Clip, Protocol
from mmalign.errors import ConfigError, DataError, MMAlignError
from mmalign.training import prediction
from mmalign.training.estimator import _set_aside
from tests.training.small import poisoned, small_dataset

SETTINGS = {"dim": 8, "heads": 2, "window": 2, "epochs": 2, "batch_size": 16}


@pytest.fixture(scope="module")
def data():
    protocol = Protocol(visible="visible", victim="victim", survival=0.5, setting="B")
    return protocol.apply(small_dataset())


@pytest.fixture(scope="module")
def model(data):
    return mmalign.MMAlign("visible", "victim", **SETTINGS).fit(data["train"], valid=data["valid"])


def test_one_predict_for_complete_missing_and_mixed_clips(model, data):
    test = data["test"]
    mixed = model.predict_proba(test)
    complete = test.is_present("victim")
    assert 0 < complete.sum() < len(test)
    for chosen in (complete, ~complete):
        rows = np.flatnonzero(chosen)
        alone = model.predict_proba(test.select(rows))
        np.testing.assert_allclose(alone, mixed[rows], atol=1e-6)


def test_batch_order_and_padding_do_not_matter(model, data):
    model.fitted.model.double()
    try:
        whole = model.fitted.outputs(data["test"])
        backwards = model.fitted.outputs(data["test"].select(range(len(data["test"]) - 1, -1, -1)))
        torch.testing.assert_close(backwards.flip(0), whole, atol=1e-12, rtol=0)
        for row in range(len(data["test"])):
            alone = model.fitted.outputs(data["test"].select([row]))
            torch.testing.assert_close(alone[0], whole[row], atol=1e-12, rtol=0)
    finally:
        model.fitted.model.float()


@pytest.mark.parametrize("size", [1, 3, 128])
def test_metrics_are_the_same_for_any_batch_size(model, data, monkeypatch, size):
    whole = model.score(data["test"])
    monkeypatch.setattr(prediction, "EVALUATION_BATCH", size)
    assert model.score(data["test"]) == pytest.approx(whole, abs=1e-6)


def test_a_victim_that_is_there_is_used(model, data):
    complete = data["test"].select(np.flatnonzero(data["test"].is_present("victim")))
    without = complete.without("victim", complete.ids)
    assert not np.allclose(model.predict_proba(complete), model.predict_proba(without))


def test_clips_need_no_label_and_no_victim(model, data):
    steps = data["test"][0].sequences["visible"]
    clip = Clip("new", None, {"visible": steps})
    assert model.predict([clip]).shape == (1,)


def test_imputation_and_alignment(model, data):
    clips = data["test"].select(range(3))
    for clip, hidden, plan in zip(clips, model.impute(clips), model.align(clips), strict=True):
        length = len(clip.sequences["visible"])
        assert hidden.shape == (length, 8)
        assert plan.shape == (length, length)
        np.testing.assert_allclose(plan.sum(axis=1), 1, atol=1e-5)


def test_saving_and_loading_keeps_every_prediction(model, data, tmp_path):
    model.save(tmp_path / "saved")
    for back in (mmalign.load(tmp_path / "saved"), mmalign.from_pretrained(tmp_path / "saved")):
        np.testing.assert_array_equal(
            back.predict_proba(data["test"]), model.predict_proba(data["test"])
        )
        assert back.config == model.config


def test_a_loaded_model_is_where_it_was_asked_to_be(model, tmp_path):
    """The meta device computes nothing, but it is there on every machine."""
    model.save(tmp_path / "saved")
    for load in (mmalign.load, mmalign.from_pretrained):
        for name in ("cpu", "meta"):
            back = load(tmp_path / "saved", device=name)
            state = back.fitted.model.state_dict().values()
            assert {tensor.device.type for tensor in state} == {name}
            assert back.device == name
    with pytest.raises(ConfigError, match="device 'abacus'"):
        mmalign.load(tmp_path / "saved", device="abacus")


def test_what_is_imputed_and_aligned_goes_where_the_model_is(model, data, tmp_path):
    model.save(tmp_path / "saved")
    back = mmalign.load(tmp_path / "saved", device="meta")
    (pair,) = back._pairs(data["test"].select([0]))
    assert {pair.visible.device.type, pair.victim_lengths.device.type} == {"meta"}
    assert back.fitted.model.gate.device.type == "meta"


def test_what_is_saved_is_safetensors_and_json(model, tmp_path):
    from safetensors import safe_open

    model.save_pretrained(tmp_path / "saved")
    with safe_open(tmp_path / "saved" / "model.safetensors", framework="pt") as file:
        assert "backbone.encode_visible.cls" in file.keys()  # noqa: SIM118
    assert {p.name for p in (tmp_path / "saved").iterdir()} == {
        "model.safetensors",
        "config.json",
        "README.md",
        "manifest.json",
    }


def test_scikit_learn_s_clone_and_params(model):
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.predictor is None
    assert copy.set_params(window=3).config.window == 3
    assert repr(mmalign.MMAlign("a", "b", window=3)) == "MMAlign('a', 'b', window=3)"


def test_validation_clips_are_set_aside_where_none_are_given(data):
    """And not those that a protocol with the same seed let survive."""
    few = Protocol(visible="visible", victim="victim", survival=0.15).apply(small_dataset())
    train, valid = _set_aside(few["train"], 0)
    assert len(valid) == 7
    assert not set(train.ids) & set(valid.ids)
    assert train.is_present("victim").any()
    model = mmalign.MMAlign("visible", "victim", **SETTINGS).fit(few["train"])
    assert len(model.predict(data["test"])) == len(data["test"])


def test_a_dataset_that_really_lacks_the_victim_is_predicted(model, data):
    alone = data["test"].only(["visible"])
    missing = data["test"].without("victim", data["test"].ids)
    np.testing.assert_array_equal(model.predict_proba(alone), model.predict_proba(missing))
    assert len(model.predict([])) == 0


def test_classes_are_compared_by_name(model, data):
    test = data["test"]
    classes = test.task.classes
    turned = replace(test, labels=3 - test.labels, task=Classification(classes[::-1]))
    assert model.score(turned) == model.score(test)
    other = replace(test, task=Classification(("p", "q", "r", "s")))
    with pytest.raises(DataError, match="no labels of the model's task"):
        model.score(other)
    assert len(model.predict(other)) == len(test)


def test_features_that_do_not_fit_are_refused(model, data):
    steps = data["test"][0].sequences["visible"]
    bad = steps.copy()
    bad[2, 3] = np.nan
    for features, message in (
        ({"visible": bad}, "clip x, modality visible, step 2, feature 3: non-finite"),
        ({"visible": steps[:, :3]}, r"clip x, modality visible: expected \[time, 6\]"),
        ({"victim": steps}, "clip x, modality visible: the visible modality is missing"),
    ):
        with pytest.raises(DataError, match=message):
            model.predict([Clip("x", None, features)])


@pytest.mark.parametrize("modality", ["visible", "victim"])
def test_what_overflows_is_neither_imputed_nor_aligned(model, modality):
    clips = poisoned(small_dataset(), "test", {"test-00003"}, modality, 1e30)["test"]
    with pytest.raises(DataError, match="clip test-00003: the model's output is not finite"):
        model.align(clips)
    if modality == "visible":
        missing = clips.without("victim", clips.ids)
        for ask in (model.impute, model.align):
            with pytest.raises(DataError, match="clip test-00003: the model's output is not"):
                ask(missing)


def test_saving_beside_other_files_is_refused(model, tmp_path):
    model.save(tmp_path / "saved")
    model.save(tmp_path / "saved")
    (tmp_path / "saved" / "run.json").write_text("{}")
    with pytest.raises(MMAlignError, match="holds other files"):
        model.save(tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_a_dataset_will_do(data):
    assert mmalign.MMAlign("visible", "victim", **SETTINGS).fit(data).history


def test_mistakes_are_named(data):
    with pytest.raises(ConfigError, match="unknown setting 'windw'; did you mean 'window'"):
        mmalign.MMAlign("a", "b", windw=3)
    with pytest.raises(ConfigError, match="unknown method 'mmalgn'; did you mean 'mmalign'"):
        mmalign.MMAlign("a", "b", method="mmalgn")
    with pytest.raises(ConfigError, match="choose two modalities"):
        mmalign.MMAlign("a", "a")
    with pytest.raises(MMAlignError, match="not fitted"):
        mmalign.MMAlign("visible", "victim").predict(data["test"])
    with pytest.raises(DataError, match="no modality 'face'"):
        mmalign.MMAlign("face", "victim").fit(data["train"], data["valid"])
    with pytest.raises(ConfigError, match="device"):
        mmalign.MMAlign("visible", "victim", device="abacus", epochs=1).fit(data["train"])
