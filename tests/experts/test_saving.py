"""A model of experts from a file is sound, or refused: no kernel looks beyond its arrays."""

import json

import numpy as np
import pytest
from safetensors.numpy import load, save

from mmalign.data import Clip
from mmalign.errors import CorruptArtifactError, DataError
from mmalign.experts import Experts
from tests.cost import cost_of
from tests.experts.made import NAMES, made_clips


@pytest.fixture(scope="module")
def packed():
    return Experts(list(NAMES), epochs=1).fit(made_clips(24, seed=0)).packed()


def test_what_training_wrote_is_sound(packed):
    Experts.unpacked(*packed)


def changed(packed, name, change):
    arrays = load(packed[0])
    (found,) = [key for key in arrays if key == f"0/{name}"]
    arrays[found] = change(arrays[found])
    return save(arrays), packed[1]


ARRAYS = {
    "a kernel beyond the last": ("ridge/banks/0/kernels", lambda a: a + 10**9),
    "a kernel before the first": ("ridge/banks/1/kernels", lambda a: a - 10**6),
    "taps before the clip": ("ridge/banks/0/dilations", lambda a: -a),
    "taps far away": ("ridge/banks/0/dilations", lambda a: a + 2**60),
    "channels beyond the last": ("ridge/banks/0/channels", lambda a: np.repeat(a, 9, axis=1)),
    "channels before the last": ("ridge/banks/0/channels", lambda a: a[:, :1].copy()),
    "few thresholds": ("ridge/banks/0/thresholds", lambda a: a[:3].copy()),
    "thresholds in a row": ("ridge/banks/0/thresholds", lambda a: a.reshape(-1)),
    "integer weights": ("ridge/ridge/weights", lambda a: a.astype(np.int64)),
    "bool weights": ("ridge/ridge/weights", lambda a: a > 0),
    "integer weights of a network": ("taps/network/read.weight", lambda a: a.astype(np.int64)),
    "half weights of a network": ("taps/network/read.weight", lambda a: a.astype(np.float16)),
    "more outputs": ("ridge/ridge/weights", lambda a: np.repeat(a, 3, axis=1)),
    "NaN": ("ridge/ridge/intercept", lambda a: a * np.nan),
    "infinity": ("taps/network/stem.bias", lambda a: a + np.inf),
    "a million blocks": ("taps/numbers", lambda a: np.array([*a[:3], 1e6])),
    "negative blocks": ("taps/numbers", lambda a: np.array([*a[:3], -1.0])),
    "blocks that are no number": ("taps/numbers", lambda a: np.array([*a[:3], 2.5])),
    "no numbers": ("taps/numbers", lambda a: a[:2].copy()),
    "inputs of no scale": ("taps/inputs/scale", lambda a: 0 * a),
    "inputs of a million channels": ("taps/inputs/mean", lambda _: np.zeros(10**6, np.float32)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_do_not_fit_are_refused(packed, name):
    payload, card = changed(packed, *ARRAYS[name])
    cost = cost_of(lambda: Experts.unpacked(payload, card), seconds=10)
    assert cost.outcome.startswith("CorruptArtifactError"), cost
    assert cost.memory < 64 << 20


@pytest.mark.parametrize(
    "change",
    [
        lambda card: card["weights"].pop(),
        lambda card: card["weights"][0].update(weights=[1.0, 2.0]),
        lambda card: card["weights"][0].update(weights=[[1.0]]),
        lambda card: card["members"].pop(0),
        lambda card: card["members"][0].update(modalities=["x", "x"]),
        lambda card: card["members"][0].update(modalities=[]),
        lambda card: card["members"][0].update(sense={"a": 1}),
        lambda card: card["members"][0]["sense"].update(smooth="no"),
        lambda card: card["members"].append(card["members"][0]),
        lambda card: card["weights"][0].update(weights=[float("nan")]),
        lambda card: card["prior"].pop(),
        lambda card: card["prior"].__setitem__(0, float("nan")),
        lambda card: card.pop("prior"),
        lambda card: card.update(format=1),
        lambda card: card.update(task={"kind": "classification", "classes": ["a"] * 3}),
        lambda card: card.update(task={"kind": "classification", "classes": list("abcdef")}),
        lambda card: card.update(task=None),
        lambda card: card.update(members={}),
        lambda card: card.update(members=3),
    ],
)
def test_a_card_that_does_not_fit_is_refused(packed, change):
    payload, card = packed[0], json.loads(json.dumps(packed[1]))
    change(card)
    with pytest.raises(CorruptArtifactError):
        Experts.unpacked(payload, card)


def test_arrays_of_no_member_are_refused(packed):
    payload = save({**load(packed[0]), "9/held_out": np.zeros((3, 2))})
    with pytest.raises(CorruptArtifactError, match="other members"):
        Experts.unpacked(payload, packed[1])


def test_more_modalities_than_subsets_can_be_weighed_for_are_refused_before_learning():
    clips = [
        Clip(f"c{row}", "ab"[row % 2], {f"m{n}": np.ones((3, 1)) * row for n in range(17)})
        for row in range(6)
    ]
    with pytest.raises(DataError, match="17 modalities"):
        Experts(epochs=1).fit(clips)


def test_no_byte_of_the_card_can_change_unseen(packed, tmp_path):
    clips = made_clips(3, seed=1)
    model = Experts.unpacked(*packed)
    model.save(tmp_path / "model")
    file = tmp_path / "model" / "experts.json"
    content = file.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.choice(len(content), 60, replace=False):
        mutant = bytearray(content)
        mutant[place] ^= 1 << rng.integers(8)
        file.write_bytes(mutant)
        try:
            found = Experts.load(tmp_path / "model")
        except CorruptArtifactError:
            continue
        np.testing.assert_array_equal(found.predict(clips), model.predict(clips))


def test_a_card_of_before_it_was_sealed_is_read(packed, tmp_path):
    import hashlib

    payload, card = packed
    (tmp_path / "experts.safetensors").write_bytes(payload)
    old = {**card, "sha256": hashlib.sha256(payload).hexdigest()}
    (tmp_path / "experts.json").write_text(json.dumps(old))
    clips = made_clips(3, seed=1)
    expected = Experts.unpacked(*packed).predict(clips)
    np.testing.assert_array_equal(Experts.load(tmp_path).predict(clips), expected)
