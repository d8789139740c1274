"""The default model: any subset of modalities, with scikit-learn's manners."""

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import mmalign
from mmalign.data import Clip, Dataset
from mmalign.data.split import Split
from mmalign.errors import (
    ConfigError,
    CorruptArtifactError,
    DataError,
    MMAlignError,
)
from mmalign.estimator.experts import ExpertsMMAlign
from mmalign.estimator.network import NetworkMMAlign
from mmalign.estimator.pair import PairMMAlign
from mmalign.experts import Experts
from tests.experts.made import NAMES, made_clips, only, with_holes

TEST = made_clips(20, seed=1)


@pytest.fixture(scope="module")
def model():
    clips = with_holes(made_clips(40, seed=0))
    return mmalign.MMAlign(seed=3, epochs=2, members=2).fit(
        clips, groups=lambda clip_id: clip_id[:7]
    )


def test_the_default_is_the_model_of_experts(model):
    assert isinstance(model, ExpertsMMAlign)
    experts = Experts(seed=3, epochs=2, members=2)
    experts.fit(with_holes(made_clips(40, seed=0)), groups=lambda clip_id: clip_id[:7])
    mixed = with_holes(TEST)
    np.testing.assert_array_equal(model.answers(mixed), experts.predict(mixed))
    assert model.predict(mixed).tolist() == experts.classes_[experts.predict(mixed)].tolist()
    np.testing.assert_array_equal(model.predict_proba(mixed), experts.predict_proba(mixed))
    assert model.metrics(mixed) == experts.score(mixed)
    assert model.score(mixed) == experts.score(mixed)["accuracy"]
    assert model.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("arguments", "settings", "kind"),
    [
        ((), {}, ExpertsMMAlign),
        ((), {"modalities": ["a"]}, ExpertsMMAlign),
        ((), {"method": "experts"}, ExpertsMMAlign),
        (("a", "b"), {}, PairMMAlign),
        ((), {"visible": "a", "victim": "b"}, PairMMAlign),
        (("a",), {"victim": "b", "method": "mmalign"}, PairMMAlign),
        ((), {"method": "mmalign"}, NetworkMMAlign),
        ((), {"method": "smil", "modalities": ["a", "b"], "window": 3}, NetworkMMAlign),
    ],
)
def test_the_arguments_choose_the_kind(arguments, settings, kind):
    assert type(mmalign.MMAlign(*arguments, **settings)) is kind


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (("a",), {}, "give visible= and victim="),
        (("a",), {"method": "mmalign"}, "method 'mmalign' imputes one modality from another: give"),
        (("a", "b"), {"method": "experts"}, r"experts take modalities="),
        (("a", "b"), {"modalities": ["a"]}, r"experts take modalities="),
        ((), {"sed": 1}, "experts have no 'sed'; did you mean 'seed'"),
        ((), {"window": 8}, "experts have no 'window'; there are modalities, seed"),
        ((), {"modalities": []}, "one or more different names"),
        ((), {"modalities": ["a", "a"]}, "one or more different names"),
        ((), {"modalities": "text"}, "a list of names"),
        ((), {"seed": -1, "epochs": 0}, "seed must be .*; epochs must be"),
        ((), {"members": 0}, "members must be an integer >= 1, got 0"),
        ((), {"seed": True, "epochs": True}, "seed must .* True; epochs must .* True"),
        ((), {"visibel": "a"}, "did you mean 'visible'"),
        ((), {"device": "cuda"}, "experts compute on the CPU"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments, settings, message):
    with pytest.raises(ConfigError, match=message):
        mmalign.MMAlign(*arguments, **settings)


def test_what_is_absent_null_or_not_the_model_s_makes_no_difference(model):
    absent = only(TEST, "pose", "wrist")
    null = [replace(c, sequences={**c.sequences, "voice": None}) for c in absent]
    noise = np.full((3, 9), np.nan, np.float32)
    more = [replace(c, sequences={**c.sequences, "smell": noise}) for c in absent]
    expected = model.predict_proba(absent)
    for other in (null, more, (clip for clip in absent)):
        np.testing.assert_array_equal(model.predict_proba(other), expected)
    split = Split.from_clips([replace(c, label=None) for c in more], [*NAMES, "smell"], model.task)
    np.testing.assert_array_equal(model.predict_proba(split), expected)
    assert model.predict(TEST[0]).shape == (1,)


def test_scikit_learn_s_clone_and_params(model):
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.task is None
    assert not hasattr(copy, "classes_")
    assert copy.set_params(modalities=["pose"], seed=5).get_params()["seed"] == 5
    assert repr(copy) == "MMAlign(modalities=['pose'], seed=5, epochs=2, members=2)"
    assert repr(mmalign.MMAlign()) == "MMAlign()"
    with pytest.raises(ConfigError, match="no 'visible'"):
        copy.set_params(visible="pose")
    assert copy.seed == 5
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict(TEST), model.predict(TEST))


def test_saved_and_loaded_it_answers_the_same(model, tmp_path):
    model.save(tmp_path / "saved")
    model.save(tmp_path / "saved")
    mixed = with_holes(TEST)
    for load in (mmalign.load, mmalign.MMAlign.load, mmalign.from_pretrained):
        back = load(tmp_path / "saved")
        np.testing.assert_array_equal(back.predict_proba(mixed), model.predict_proba(mixed))
        assert back.get_params() == {**model.get_params(), "modalities": list(NAMES)}
    card = (tmp_path / "saved" / "README.md").read_text()
    assert all(f"| {name} |" in card for name in NAMES)
    with pytest.raises(ConfigError, match="CPU"):
        mmalign.load(tmp_path / "saved", device="meta")
    for name in ("model.safetensors", "config.json"):
        file = tmp_path / "saved" / name
        content = file.read_bytes()
        file.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:])
        with pytest.raises(CorruptArtifactError, match=name):
            mmalign.load(tmp_path / "saved")
        file.write_bytes(content)
    assert mmalign.load(tmp_path / "saved").seed == 3


def test_what_only_the_paper_s_can_do_is_said(model):
    for ask in (model.impute, model.align):
        with pytest.raises(MMAlignError, match=r"does not .*visible=…, victim=…"):
            ask(TEST)


def test_chosen_modalities_and_datasets(model):
    clips = made_clips(12, seed=0)
    split = Split.from_clips(clips, list(NAMES), model.task)
    data = Dataset(model.task, {"pose": 4, "wrist": 3, "voice": 2}, {"train": split})
    chosen = mmalign.MMAlign(modalities=["pose"], epochs=1).fit(data)
    assert list(chosen.experts.experts) == ["pose"]
    assert chosen.predict(TEST).shape == (20,)


def test_mistakes_are_named(model):
    few = made_clips(6, seed=0)
    wide = replace(few[2], sequences={"pose": np.ones((4, 9), np.float32)})
    bare = replace(few[2], sequences={})
    for clips, settings, message in (
        (few, {"modalities": ["smell"]}, "no modality 'smell'. These clips have pose, wrist"),
        ([*few[:2], wide], {}, rf"clip {wide.id}, modality pose: expected \[time, 4\]"),
        ([*few[:2], bare], {}, f"clip {bare.id}: the clip has none of the model's modalities"),
        (only(few, "pose"), {"modalities": ["pose", "wrist"]}, "no modality 'wrist'"),
        ([replace(c, label=None) for c in few], {}, "there are no labels"),
    ):
        with pytest.raises(DataError, match=message):
            mmalign.MMAlign(epochs=1, **settings).fit(clips)
    null = [replace(c, sequences={**c.sequences, "voice": None}) for c in few]
    with pytest.raises(DataError, match="modality voice"):
        mmalign.MMAlign(modalities=["pose", "voice"], epochs=1).fit(null)
    with pytest.raises(DataError, match="none of the model's modalities"):
        model.predict([Clip("x", None, {"smell": np.ones((3, 2))})])
    with pytest.raises(MMAlignError, match="not fitted"):
        mmalign.MMAlign().predict(TEST)
    with pytest.raises(MMAlignError, match="not fitted"):
        mmalign.MMAlign().save("nowhere")


def test_validation_clips_are_checked_and_a_failed_fit_changes_nothing(model):
    before = model.predict_proba(TEST)
    strange = [replace(TEST[0], label="strange")]
    with pytest.raises(DataError, match=r"split valid, clip .*'strange' is none of"):
        model.fit(made_clips(6, seed=0), valid=strange)
    np.testing.assert_array_equal(model.predict_proba(TEST), before)


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # whoever imports it fails
import numpy as np
import mmalign
rng = np.random.default_rng(0)
clips = [
    {"label": "ab"[n % 2], "group": f"p{n % 4}", "wrist": rng.normal(size=(9, 2)) + n % 2}
    for n in range(16)
]
model = mmalign.MMAlign(epochs=1).fit(clips)
model.save(sys.argv[1])
print(*mmalign.load(sys.argv[1]).predict(clips[:2]))
"""


def test_experts_are_trained_saved_and_asked_without_torch(tmp_path):
    words = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "saved")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["a", "b"], done.stderr


def test_a_misspelt_modality_is_refused_wherever_clips_are_answered(model, tmp_path):
    clips = [
        replace(TEST[0], sequences={"pose": TEST[0].sequences["pose"], "wrsit": np.ones((5, 3))})
    ]
    model.save(tmp_path / "model")
    for one in (model, mmalign.load(tmp_path / "model"), model.experts):
        for ask in (one.predict, one.predict_proba, one.score):
            with pytest.raises(DataError, match=r"does not know 'wrsit'\. Did you mean 'wrist'"):
                ask(clips)
    with pytest.raises(DataError, match=r"does not know 'wrsit'.*Rename it, or leave it out"):
        model.metrics(clips)
    with pytest.raises(DataError, match=r"split valid, clip .*: the model does not know 'wrsit'"):
        clone(model).set_params(epochs=1).fit(with_holes(made_clips(9, seed=0)), valid=clips)


def test_a_modality_that_training_clips_lacked_is_left_out(model):
    more = [replace(c, sequences={**c.sequences, "gps": np.ones((5, 3))}) for c in TEST[:2]]
    assert model.predict(more).tolist() == model.predict(TEST[:2]).tolist()


def test_a_misspelt_choice_is_refused():
    with pytest.raises(DataError, match=r"no modality 'vioce'\. Did you mean 'voice'"):
        mmalign.MMAlign(modalities=["vioce"]).fit(made_clips(12, seed=0))
