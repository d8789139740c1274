"""A network that learned little hardly counts beside a ridge, where the answer is a number."""

from dataclasses import replace

import numpy as np
import pytest

from mmalign.data.clip import Clip
from mmalign.errors import CorruptArtifactError
from mmalign.experts import Experts
from mmalign.experts.modality import MOST
from mmalign.experts.saving import pack_panel, unpack_panel


def levels(count, seed=0):
    """A wave around a level, which is the label: a ridge tells it at once."""
    rng = np.random.default_rng(seed)
    labels = rng.normal(size=count)
    waves = [np.sin(np.arange(12) + rng.uniform(0, 6)) for _ in range(count)]
    return [
        Clip(str(n), float(label), {"wave": (label + 0.1 * wave)[:, None].astype(np.float32)})
        for n, (label, wave) in enumerate(zip(labels, waves, strict=True))
    ]


@pytest.fixture(scope="module")
def hardly_trained():
    return Experts(epochs=1).fit(levels(40))


def error(given, clips):
    return float(np.mean((np.ravel(given) - [clip.label for clip in clips]) ** 2))


def test_the_answer_is_nearly_the_ridge_alone(hardly_trained):
    clips = levels(40, seed=1)
    wave = hardly_trained.experts["wave"]
    steps = [clip.sequences["wave"] for clip in clips]
    half = replace(wave, share=MOST)
    assert wave.share < 0.1
    assert error(wave.evidence(steps), clips) < 0.2 * error(half.evidence(steps), clips)


def test_classes_need_no_share():
    clips = [replace(clip, label=str(clip.label > 0)) for clip in levels(12)]
    assert Experts(epochs=1).fit(clips).experts["wave"].share == MOST


def test_the_share_is_saved_and_a_senseless_one_is_refused(hardly_trained, tmp_path):
    clips = levels(5, seed=2)
    hardly_trained.save(tmp_path / "model")
    loaded = Experts.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(clips), hardly_trained.predict(clips))
    panel = hardly_trained.fitted
    wrong = {names: replace(one, share=0.7) for names, one in panel.members.items()}
    packed = pack_panel(replace(panel, members=wrong), seed=0, epochs=1)
    with pytest.raises(CorruptArtifactError, match=r"a share of 0\.7"):
        unpack_panel(*packed)
