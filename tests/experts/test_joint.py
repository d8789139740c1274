"""A label that lies in how two modalities relate, and in none of them alone."""

import numpy as np
import pytest

from mmalign.data.clip import Clip
from mmalign.data.joint_twin import JointTwinConfig, joint_twin
from mmalign.errors import CorruptArtifactError
from mmalign.experts import Experts
from mmalign.experts.joint import joined
from tests.experts.made import made_clips


def related(count: int, seed: int) -> list[Clip]:
    """The second modality repeats the first one, or its opposite: the label says which."""
    rng = np.random.default_rng(seed)
    clips = []
    for number in range(count):
        first = np.cumsum(rng.normal(size=(20, 2)), axis=0).astype(np.float32)
        same = bool(rng.integers(2))
        other = (first if same else -first) + 0.3 * rng.normal(size=first.shape)
        sequences = {"left": first, "right": other.astype(np.float32)}
        clips.append(Clip(f"clip{seed}-{number}", "same" if same else "opposite", sequences))
    return clips


@pytest.fixture(scope="module")
def model() -> Experts:
    return Experts(epochs=10).fit(related(160, 0))


def test_a_relation_is_noticed_and_learned(model):
    assert ("left", "right") in model.fitted.members
    assert model.score(related(200, 1))["accuracy"] >= 0.9


@pytest.mark.parametrize("seed", range(4))
def test_a_relation_between_what_clips_are_like_on_average_is_noticed(seed):
    """A modality tells nothing alone, so whether it loses its clips' means is up to chance."""
    twin = joint_twin(JointTwinConfig(modalities=2, seed=seed, clips=(200, 1, 400)))
    model = Experts(seed=seed, epochs=4).fit(twin["train"])
    assert ("m1", "m2") in model.fitted.members
    assert model.score(twin["test"])["accuracy"] >= 0.95


def test_a_relation_of_three_is_made_of_pairs():
    twin = joint_twin(JointTwinConfig(clips=(400, 1, 400)))
    model = Experts(epochs=4).fit(twin["train"])
    assert model.score(twin["test"])["accuracy"] >= 0.95
    assert 0.4 < model.score(twin["test"].only(["m1", "m3"]))["accuracy"] < 0.6


def test_one_of_them_alone_is_near_chance_and_unsure(model):
    alone = [Clip(c.id, c.label, {"left": c.sequences["left"]}) for c in related(200, 1)]
    assert model.score(alone)["accuracy"] < 0.65
    assert model.predict_proba(alone).max(axis=1).mean() < 0.75


def test_what_is_joined_is_saved(model, tmp_path):
    model.save(tmp_path / "model")
    clips = related(5, 2)
    again = Experts.load(tmp_path / "model")
    assert np.array_equal(again.evidence(clips), model.evidence(clips))


def test_joint_experts_of_an_earlier_version_are_refused(model):
    """They read clips less their means, where a sense said so, and would answer differently."""
    payload, card = model.packed()
    del card["format"]
    with pytest.raises(CorruptArtifactError, match="train it again"):
        Experts.unpacked(payload, card)


def test_modalities_that_add_up_are_not_joined():
    assert set(Experts(epochs=1).fit(made_clips(60, seed=0)).fitted.members) == {
        ("pose",),
        ("wrist",),
        ("voice",),
    }


def test_the_longest_gives_the_clock():
    long, short = np.arange(6.0)[:, None], np.array([[10.0], [20.0]])
    found = joined([long.astype(np.float32), short.astype(np.float32)])
    assert found.tolist() == [[0, 10], [1, 10], [2, 10], [3, 20], [4, 20], [5, 20]]
