"""The network as an estimator: N modalities, any of which may be missing."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

import mmalign
from mmalign.errors import ConfigError, DataError, MMAlignError
from tests.training.joint import TINY, whole_twin, with_holes

WHOLE = whole_twin()
HOLES = with_holes(WHOLE)


@pytest.fixture(scope="module")
def model():
    return mmalign.MMAlign(method="mmalign", both_passes=True, **TINY).fit(HOLES)


def test_all_modalities_are_read_in_the_order_of_their_names(model):
    assert model.reads == ("m1", "m2", "m3")
    assert model.needs == ()
    turned = mmalign.MMAlign(method="mmalign", both_passes=True, **TINY)
    turned.fit(HOLES.only(["m3", "m1", "m2"]))
    expected = model.predict_proba(HOLES["test"])
    np.testing.assert_array_equal(turned.predict_proba(HOLES["test"]), expected)


def test_clips_may_be_plain_and_lack_whatever_they_lack(model):
    clip = WHOLE["test"][3]
    alone = {"m2": clip.sequences["m2"]}
    expected = model.predict_proba(alone)
    np.testing.assert_array_equal(model.predict_proba({**alone, "m1": None, "m4": None}), expected)
    np.testing.assert_allclose(expected.sum(axis=1), 1, atol=1e-6)
    with pytest.raises(DataError, match="clip clip0: none of m1, m2, m3 is there"):
        model.predict({"m4": clip.sequences["m2"]})
    with pytest.raises(DataError, match="m2"):
        model.predict({"m2": np.zeros((3, 7))})


def test_chosen_modalities_alone_are_read():
    few = mmalign.MMAlign(method="copy", modalities=["m3", "m1"], **TINY)
    has_one = np.flatnonzero(HOLES["train"].is_present("m1") | HOLES["train"].is_present("m3"))
    few.fit(HOLES["train"].select(has_one), valid=WHOLE["valid"])
    assert few.reads == ("m3", "m1")
    with pytest.raises(DataError, match=r"there is no modality 'm9'\. These clips have m1, m2, m3"):
        mmalign.MMAlign(method="copy", modalities=["m9"], **TINY).fit(HOLES)
    with pytest.raises(DataError, match="none of m1 is there"):
        mmalign.MMAlign(method="copy", modalities=["m1"], **TINY).fit(HOLES)


def test_a_misspelt_modality_is_refused_beside_a_right_one(model):
    named = {"sound": "m1", "face": "m2", "text": "m3"}
    data = {
        name: [
            {"label": clip.label} | {new: clip.sequences[old] for new, old in named.items()}
            for clip in list(whole)[:16]
        ]
        for name, whole in WHOLE.splits.items()
    }
    data["valid"][0]["facce"] = data["valid"][0].pop("face")
    network = mmalign.MMAlign(method="mmalign", **TINY)
    with pytest.raises(DataError, match=r"split valid, clip clip0: .* Did you mean 'face'"):
        network.fit(data["train"], valid=data["valid"])
    network.fit(data["train"])
    for ask in (network.predict, network.predict_proba, network.impute):
        with pytest.raises(DataError, match=r"does not know 'facce'\. Did you mean 'face'"):
            ask(data["valid"])
    pair = mmalign.MMAlign("text", "face", **TINY).fit(data["train"])
    with pytest.raises(DataError, match=r"does not know 'facce'\. Did you mean 'face'"):
        pair.predict(data["valid"])


def test_what_was_saved_comes_back(model, tmp_path):
    model.save(tmp_path / "model")
    back = mmalign.load(tmp_path / "model")
    assert type(back) is type(model)
    assert back.config == model.config
    np.testing.assert_array_equal(
        back.predict_proba(HOLES["test"]), model.predict_proba(HOLES["test"])
    )
    assert "m1, m2, m3, any of which may be missing" in (tmp_path / "model/README.md").read_text()
    assert back.metrics(HOLES["test"]).keys() == model.metrics(HOLES["test"]).keys()


def test_the_table_tells_what_was_there(model):
    table = model.table({"test": HOLES["test"]})
    assert table["has_m2"].to_pylist() == HOLES["test"].is_present("m2").tolist()


def test_stand_ins_and_plans_need_names(model):
    clips = WHOLE["test"].select([0, 1])
    assert len(model.impute(clips, target="m2")) == 2
    plan = model.align(clips, source="m1", target="m2")[0]
    assert plan.shape == (clips.lengths("m1")[0], clips.lengths("m2")[0])
    with pytest.raises(MMAlignError, match="no visible and victim"):
        model.impute(clips)
    with pytest.raises(
        ConfigError, match="give both source and target; this model aligns m2 to m1"
    ):
        model.align(clips, source="m1")


def test_clones_are_unfitted_and_equal():
    asked = mmalign.MMAlign(method="smil", modalities=["a", "b"], window=3)
    assert repr(asked) == "MMAlign(modalities=['a', 'b'], method='smil', window=3)"
    assert repr(clone(asked)) == repr(asked)
    assert asked.get_params()["window"] == 3
    assert asked.set_params(window=5).config.window == 5
    assert asked.task is None


torch.set_num_threads(1)
