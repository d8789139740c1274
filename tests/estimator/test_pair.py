"""MM-Align in six lines, with scikit-learn's manners."""

import contextlib
import itertools
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone

import mmalign
from mmalign.data import Classification, Clip, Protocol, Regression
from mmalign.errors import ConfigError, DataError, MMAlignError
from mmalign.estimator.clips import set_aside
from mmalign.estimator.pair import PairMMAlign
from mmalign.predictor import predictor as prediction
from mmalign.predictor.plans import one_by_one
from mmalign.training.loop import Training
from mmalign.training.losses import TrainingError
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
    whole = model.metrics(data["test"])
    monkeypatch.setattr(prediction, "EVALUATION_BATCH", size)
    assert model.metrics(data["test"]) == pytest.approx(whole, abs=1e-6)


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


def test_a_band_of_attention_is_saved_with_the_model(model, data, tmp_path):
    banded = mmalign.MMAlign("visible", "victim", **{**SETTINGS, "epochs": 1}, attention_band=1)
    banded.fit(data["train"], valid=data["valid"]).save(tmp_path / "saved")
    back = mmalign.load(tmp_path / "saved")
    assert back.config.attention_band == 1
    expected = banded.predict_proba(data["test"])
    np.testing.assert_array_equal(back.predict_proba(data["test"]), expected)
    back.fitted.model.backbone.encoders[0].layers[0].attention.band = 10**6  # it is used
    assert np.abs(back.predict_proba(data["test"]) - expected).max() > 1e-6


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
    (streams,) = one_by_one(back.fitted, back.prepared(data["test"].select([0])))
    places = streams.features["visible"].device.type, streams.lengths["victim"].device.type
    assert set(places) == {"meta"}
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
    train, valid = set_aside(few["train"], 0)
    assert len(valid) == 7
    assert not set(train.ids) & set(valid.ids)
    assert train.is_present("victim").any()
    model = mmalign.MMAlign("visible", "victim", **SETTINGS).fit(few["train"])
    assert len(model.predict(data["test"])) == len(data["test"])


def test_groups_are_set_aside_as_a_whole(data):
    train, valid = set_aside(data["train"], 0, lambda clip_id: clip_id[-1])
    groups = [{clip_id[-1] for clip_id in split.ids} for split in (train, valid)]
    assert len(groups[1]) == 1
    assert not groups[0] & groups[1]
    assert len(train) + len(valid) == len(data["train"])
    with pytest.raises(DataError, match="nothing to set aside"):
        set_aside(data["train"], 0, lambda _: "one")


def test_groups_that_the_data_tells_are_set_aside_as_a_whole(data):
    whose = tuple(clip_id[-1] for clip_id in data["train"].ids)
    told = replace(data["train"], groups=whose)
    expected = set_aside(data["train"], 0, lambda clip_id: clip_id[-1])
    for found, wanted in zip(set_aside(told, 0), expected, strict=True):
        assert found.ids == wanted.ids
    alone = replace(data["train"], groups=("one",) * len(data["train"]))
    assert set_aside(alone, 0)[1].ids == set_aside(data["train"], 0)[1].ids


def test_a_dataset_that_really_lacks_the_victim_is_predicted(model, data):
    alone = data["test"].only(["visible"])
    missing = data["test"].without("victim", data["test"].ids)
    np.testing.assert_array_equal(model.predict_proba(alone), model.predict_proba(missing))
    assert len(model.predict([])) == 0


def test_classes_are_compared_by_name(model, data):
    test = data["test"]
    classes = test.task.classes
    turned = replace(test, labels=3 - test.labels, task=Classification(classes[::-1]))
    assert model.metrics(turned) == model.metrics(test)
    other = replace(test, task=Classification(("p", "q", "r", "s")))
    with pytest.raises(DataError, match=r"label '[pqrs]' is none of low, low, flagged"):
        model.metrics(other)
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
        mmalign.MMAlign("face", "victim").fit(data["train"], valid=data["valid"])
    with pytest.raises(ConfigError, match="device"):
        mmalign.MMAlign("visible", "victim", device="abacus", epochs=1).fit(data["train"])


def test_validation_labels_are_compared_by_name(data):
    """The order in which a split names its classes must not choose another epoch."""
    valid = data["valid"]
    turned = replace(valid, labels=3 - valid.labels, task=Classification(valid.task.classes[::-1]))
    records = []
    for split in (valid, turned):
        model = mmalign.MMAlign("visible", "victim", **{**SETTINGS, "epochs": 1})
        records.append(
            [record["valid"] for record in model.fit(data["train"], valid=split).history]
        )
    assert records[0] == records[1]


def test_validation_clips_of_another_task_are_refused(data):
    valid = data["valid"]
    strange = Classification((*valid.task.classes[1:], "strange"))
    numbers = replace(valid, labels=valid.labels.astype(np.float32), task=Regression())
    for split, message in (
        (replace(valid, task=strange), "split valid, clip .*: label 'strange' is none of low, "),
        (numbers, "split valid: the labels are numbers, those of the model are classes"),
        (replace(valid, labels=None), "split valid: there are no labels"),
    ):
        with pytest.raises(DataError, match=message):
            mmalign.MMAlign("visible", "victim", **SETTINGS).fit(data["train"], valid=split)


def test_data_that_lacks_a_class_is_scored(model, data):
    test = data["test"]
    some = test.select(np.flatnonzero(test.labels > 0))
    fewer = replace(some, labels=some.labels - 1, task=Classification(test.task.classes[1:]))
    assert model.metrics(fewer) == model.metrics(some)


def test_clips_are_taken_in_any_form(model, data):
    clips = list(data["test"])
    whole = model.predict(data["test"])
    np.testing.assert_array_equal(model.predict(clips), whole)
    np.testing.assert_array_equal(model.predict(clip for clip in clips), whole)
    assert model.predict(clips[0]).tolist() == whole[:1].tolist()
    assert model.metrics(clips) == model.metrics(data["test"])


def test_a_list_of_clips_with_named_labels_is_learned_from(data):
    names = data["train"].task.classes
    clips = [replace(clip, label=names[clip.label]) for clip in data["train"]]
    settings = {**SETTINGS, "epochs": 1, "warm_up": 0}
    model = mmalign.MMAlign("visible", "victim", **settings).fit(clips)
    assert model.fitted.task.classes == tuple(sorted(names))


def test_features_and_labels_apart_are_refused_with_the_way_out(data):
    model = mmalign.MMAlign("visible", "victim", **SETTINGS)
    with pytest.raises(DataError, match=r"expected clips, got ndarray.*fit\(clips\)"):
        model.fit(np.zeros((4, 5, 6)), np.zeros(4))
    with pytest.raises(DataError, match=r"y must hold labels, not Split.*valid=…"):
        model.fit(data["train"], data["valid"])
    with pytest.raises(DataError, match="split valid: expected clips, got int64"):
        model.fit(data["train"], valid=data["train"].labels)


@pytest.mark.parametrize("label", ["strange", -1, 99, None])
def test_predictions_need_no_label_that_the_model_knows(model, data, label):
    clips = list(data["test"].select(range(3)))
    clips[1] = replace(clips[1], label=label)
    np.testing.assert_array_equal(model.predict(clips), model.predict(data["test"])[:3])
    with pytest.raises(DataError, match=f"clip {clips[1].id}: (no )?label"):
        model.metrics(clips)


def in_other_units(split, factor):
    def convert(column):
        return [None if steps is None else steps * np.float32(factor) for steps in column]

    return replace(split, sequences={name: convert(c) for name, c in split.sequences.items()})


def test_features_in_small_units_train_like_any_other(data):
    """A power of two near 1e-8 shifts exponents alone: every prediction is the same to the bit."""
    predictions = []
    for factor in (1.0, 2.0**-27):
        train, valid, test = (in_other_units(data[s], factor) for s in ("train", "valid", "test"))
        model = mmalign.MMAlign("visible", "victim", **{**SETTINGS, "epochs": 1})
        predictions.append(model.fit(train, valid=valid).predict_proba(test))
    np.testing.assert_array_equal(*predictions)


class Killed(BaseException):
    """Nothing that follows in the process happens any more."""


def killed_at(call, monkeypatch):
    """Every rename and removal from this one on fails, those that would clean up included."""
    calls = itertools.count()

    def fatal(function):
        def run(*arguments, **options):
            if next(calls) >= call:
                raise Killed
            return function(*arguments, **options)

        return run

    monkeypatch.setattr(os, "replace", fatal(os.replace))
    monkeypatch.setattr(shutil, "rmtree", fatal(shutil.rmtree))


@pytest.mark.parametrize("call", range(9))
def test_saving_over_a_model_leaves_the_old_or_the_new_at_any_kill(
    model, tmp_path, monkeypatch, call
):
    """Four files, leftovers cleared, old one aside, new one in, old one removed; then done."""
    newer = PairMMAlign.of(model.fitted, replace(model.config, seed=5))
    model.save(tmp_path / "saved")
    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        killed_at(call, patch)
        newer.save(tmp_path / "saved")
        assert call == 8
    assert mmalign.load(tmp_path / "saved").config.seed == (0 if call < 7 else 5)
    assert mmalign.from_pretrained(tmp_path / "saved").config.seed == (0 if call < 7 else 5)
    newer.save(tmp_path / "saved")
    assert mmalign.load(tmp_path / "saved").config.seed == 5
    assert not (tmp_path / ".saved.old").exists()


def test_a_failure_between_the_renames_puts_the_old_model_back(model, tmp_path, monkeypatch):
    model.save(tmp_path / "saved")
    rename = os.replace

    def refuse(source, target):
        if Path(target) == tmp_path / "saved" and Path(source).name != ".saved.old":
            raise OSError("no space left")
        rename(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="no space left"):
        model.save(tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    assert mmalign.load(tmp_path / "saved").config == model.config


def test_a_model_is_saved_through_a_link_but_not_over_a_file_or_the_working_directory(
    model, tmp_path, monkeypatch
):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for _ in range(2):  # to nowhere, then to a model
        model.save(tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert mmalign.load(tmp_path / "target").config == model.config
    (tmp_path / "file").write_text("mine")
    with pytest.raises(MMAlignError, match=r"file: is a file\. Give the path of a directory"):
        model.save(tmp_path / "file")
    monkeypatch.chdir(tmp_path / "target")
    with pytest.raises(MMAlignError, match="target: is the working directory"):
        model.save(".")


def diverging_after(epochs, monkeypatch):
    """Training that goes wrong in the epoch after these, its weights spoiled."""
    run_epoch = Training.run_epoch

    def run(training):
        if len(training.state.history) < epochs:
            return run_epoch(training)
        for weights in training.state.model.parameters():
            weights.data.fill_(float("nan"))
        raise TrainingError("the main loss is nan. Lower the learning rate.")

    monkeypatch.setattr(Training, "run_epoch", run)


def test_training_that_diverges_keeps_the_best_epoch_so_far(data, monkeypatch):
    model = mmalign.MMAlign("visible", "victim", **SETTINGS)
    diverging_after(1, monkeypatch)
    with pytest.raises(TrainingError, match=r"loss is nan.* Kept the best of 1 finished epoch"):
        model.fit(data["train"], valid=data["valid"])
    assert len(model.history) == 1
    assert np.isfinite(model.predict_proba(data["test"])).all()
    assert model.metrics(data["valid"]) == model.history[0]["valid"]["valid"]


def test_training_that_diverges_at_once_says_that_nothing_is_kept(data, monkeypatch):
    model = mmalign.MMAlign("visible", "victim", **SETTINGS)
    diverging_after(0, monkeypatch)
    with pytest.raises(TrainingError, match="No epoch was finished: nothing of it is kept"):
        model.fit(data["train"], valid=data["valid"])
    with pytest.raises(MMAlignError, match="not fitted"):
        model.predict(data["test"])


def test_a_method_brings_its_own_settings_however_it_is_chosen(model, tmp_path):
    built = mmalign.MMAlign("visible", "victim", method="dynamic-window", window=3)
    assert built.config.gate
    assert built.config.both_passes
    plain = mmalign.MMAlign("visible", "victim", window=3)
    model.save(tmp_path / "saved")
    loaded = mmalign.load(tmp_path / "saved").set_params(window=3)
    for other in (plain, clone(plain), clone(clone(plain))):
        assert other.set_params(method="dynamic-window").config == built.config
    assert loaded.set_params(method="dynamic-window").config == replace(
        built.config, **{name: value for name, value in SETTINGS.items() if name != "window"}
    )
    assert built.set_params(method="mmalign").config == mmalign.MMAlign("a", "b", window=3).config


def test_what_was_asked_for_stays_when_the_method_changes():
    asked = mmalign.MMAlign("visible", "victim", gate=False)
    for model in (clone(asked), asked):
        changed = model.set_params(method="dynamic-window").config
        assert changed.both_passes
        assert not changed.gate


def test_parameters_that_make_no_sense_change_nothing(model):
    before = model.get_params(), model.predictor
    with pytest.raises(ConfigError, match="unknown setting 'windw'"):
        model.set_params(visible="other", windw=3)
    with pytest.raises(ConfigError, match="choose two modalities"):
        model.set_params(window=3, victim="visible")
    assert (model.get_params(), model.predictor) == before
    assert model.set_params().predictor is not None


def test_predictions_are_names_of_the_classes(model, data, tmp_path):
    names = data["test"].task.classes
    assert model.classes_.tolist() == list(names)
    found = model.answers(data["test"])
    assert model.predict(data["test"]).tolist() == [names[index] for index in found]
    model.save(tmp_path / "saved")
    assert mmalign.load(tmp_path / "saved").classes_.tolist() == list(names)
    assert not hasattr(mmalign.MMAlign("visible", "victim"), "classes_")
    numbers = replace(model.fitted, task=Regression())
    assert not hasattr(PairMMAlign.of(numbers, model.config), "classes_")


def test_a_modality_of_the_pair_that_no_clip_has_is_refused_by_name(data):
    with pytest.raises(DataError, match=r"no modality 'victm'\. Did you mean 'victim'"):
        mmalign.MMAlign("visible", "victm", **SETTINGS).fit(data["train"])
