"""Experts as a graph, and how a model becomes a file."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from onnxruntime import InferenceSession

import mmalign
from mmalign.data.inputs import Inputs
from mmalign.errors import MMAlignError
from mmalign.export.parity import check_parity, feeds, made_clips
from mmalign.export.subject import subject_of
from mmalign.export.writing import export_onnx, graph_of
from tests.docs.pages import ROOT, blocks
from tests.experts.made import DIMS, with_holes
from tests.experts.made import made_clips as clips_of_waves


@pytest.fixture(scope="module")
def model():
    return mmalign.MMAlign(epochs=1, members=2).fit(with_holes(clips_of_waves(24, seed=0)))


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    return export_onnx(model, tmp_path_factory.mktemp("export") / "new" / "model.onnx")


def test_a_file_answers_as_its_model(model, exported):
    assert exported.difference <= 1e-5
    assert exported.size == exported.path.stat().st_size
    assert exported.dims == DIMS
    session = InferenceSession(exported.path, providers=["CPUExecutionProvider"])
    facts = session.get_modelmeta().custom_metadata_map
    assert {name: json.loads(fact) for name, fact in facts.items()} == {
        "task": "classification",
        "modalities": DIMS,
        "needs": [],
        "classes": ["a", "b", "c"],
    }
    clips = with_holes(clips_of_waves(7, seed=3))
    (found,) = session.run(None, feeds(subject_of(model), clips))
    np.testing.assert_allclose(found, model.predict_proba(clips), atol=1e-5)


def test_padding_does_not_matter_and_a_clip_without_anything_gets_nan(model, exported):
    session = InferenceSession(exported.path, providers=["CPUExecutionProvider"])
    given = feeds(subject_of(model), clips_of_waves(2, seed=3))
    (expected,) = session.run(None, given)
    longer = {
        name: np.pad(value, ((0, 0), (0, 9), (0, 0)), constant_values=np.nan)
        if value.ndim == 3
        else value
        for name, value in given.items()
    }
    np.testing.assert_allclose(session.run(None, longer)[0], expected, atol=1e-6)
    nothing = {
        name: value[:1, :0] if value.ndim == 3 else value[:1] * 0 for name, value in given.items()
    }
    assert np.isnan(session.run(None, nothing)[0]).all()


def test_the_example_of_the_page_needs_onnxruntime_and_numpy_alone(exported):
    (example,) = blocks(ROOT / "docs" / "export.md", "python")
    names = "mmalign", "torch", "numba", "scipy", "pyarrow"
    checked = f"{example}\nimport sys\nassert not set({names}) & set(sys.modules)\n"
    done = subprocess.run(
        [sys.executable, "-c", checked], cwd=exported.path.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("'") == 6


def test_centred_and_joint_experts_and_numbers_have_a_form_too(model):
    """What training would choose on other data, put together by hand."""
    panel = model.experts.fitted
    members = {}
    for names, member in panel.members.items():
        inputs = [Inputs(True, found.mean, found.scale) for found in member.ridge.inputs]
        ridge, taps = _copy(member.ridge, inputs=inputs, motion_gain=1.5), _copy(member.taps)
        taps.inputs, taps.together = inputs[1], 3
        # As many features more as motion adds.
        more = 6 * ridge.detectors
        fixed = ridge.ridge
        ridge.ridge = replace(
            fixed,
            mean=np.append(fixed.mean, np.zeros(more)),
            scale=np.append(fixed.scale, np.ones(more)),
            weights=np.concatenate((fixed.weights, np.full((more, 3), 1e-3))),
        )
        members[names] = replace(member, ridge=ridge, taps=taps)
    changed = mmalign.MMAlign(epochs=1)
    changed.experts = mmalign.Experts(list(DIMS))
    changed.experts.panel = replace(panel, members=members)
    subject = subject_of(changed)
    assert check_parity(graph_of(subject).SerializeToString(), subject) <= 1e-5


def test_a_ridge_without_windows_has_a_form_too(model):
    panel = model.experts.fitted
    members = {}
    for names, member in panel.members.items():
        kept = sum(bank.thresholds.size for bank in member.ridge.banks)
        fixed = member.ridge.ridge
        ridge = replace(
            fixed,
            mean=fixed.mean[:kept],
            scale=fixed.scale[:kept],
            weights=fixed.weights[:kept],
        )
        lean = _copy(member.ridge, has_windows=False, motion_gain=0.0, ridge=ridge)
        members[names] = replace(member, ridge=lean) if kept else member
    assert any(not member.ridge.has_windows for member in members.values())
    changed = mmalign.MMAlign(epochs=1)
    changed.experts = mmalign.Experts(list(DIMS))
    changed.experts.panel = replace(panel, members=members)
    subject = subject_of(changed)
    assert check_parity(graph_of(subject).SerializeToString(), subject) <= 1e-5


def test_a_file_that_would_answer_otherwise_is_not_written(model, tmp_path, monkeypatch):
    told = model.predict_proba
    monkeypatch.setattr(model, "predict_proba", lambda clips: told(clips) + 2e-5)
    with pytest.raises(MMAlignError, match=r"2\.[01]e-05 away .* nothing is written"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())
    with pytest.raises(MMAlignError, match="not fitted"):
        export_onnx(mmalign.MMAlign(), tmp_path / "model.onnx")


def test_made_clips_have_every_pattern_and_gaps(model):
    random = np.random.default_rng(0)
    longest = 48
    clips = list(made_clips(subject_of(model), random, 64, longest))
    assert len({frozenset(clip.sequences) for clip in clips}) == 7
    sizes = {len(steps) for clip in clips for steps in clip.sequences.values()}
    assert {1, longest} <= sizes
    assert any(not there.all() for clip in clips for there in clip.observed.values())


def _copy(expert, **changes):
    made = object.__new__(type(expert))
    vars(made).update({**vars(expert), **changes})
    return made
