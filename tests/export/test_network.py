"""Networks as graphs: every method, any number of modalities, every pattern."""

from typing import get_args

import pytest

import mmalign
from mmalign.data import TwinConfig, synthetic_twin
from mmalign.errors import ConfigError
from mmalign.export.parity import check_parity
from mmalign.export.subject import subject_of
from mmalign.export.writing import export_onnx, graph_of
from mmalign.imputers import SMIL, ZeroFill
from mmalign.imputers.modal_trans import Decoding
from mmalign.training.methods import METHODS
from tests.training.joint import TINY, restless, whole_twin, with_holes

HOLES = with_holes(whole_twin())
TWO = whole_twin(2)
STEP_BY_STEP = ("modal-trans", "modal-trans-uncached")
STRONG = {"norm": "pre", "pool": "cls+mean+max", "encoder_layers": 2, "fusion_layers": 2}


def few_draws(model):
    """The model with two draws where it has ten."""
    for way in model.fitted.model.bank.ways:
        if isinstance(way.imputer, SMIL):
            way.imputer.noise = way.imputer.noise[:2]
    return model


def difference(model) -> float:
    subject = subject_of(few_draws(model))
    return check_parity(graph_of(subject).SerializeToString(), subject)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in STEP_BY_STEP])
def test_a_network(method):
    data = TWO if METHODS[method].is_dedicated else with_holes(TWO)
    assert difference(restless(mmalign.MMAlign(method=method, **TINY).fit(data))) <= 1e-5


@pytest.mark.parametrize("method", ["smil", "lb"])
def test_a_pair_with_its_gate(method):
    twin = synthetic_twin(TwinConfig(clips=(24, 8, 4), shortest=4, longest=6, dim=4)).dataset
    model = mmalign.MMAlign("visible", "victim", method=method, **TINY)
    model.fit(twin["train"].without("victim", twin["train"].ids[::2]), valid=twin["valid"])
    model.fitted.model.gate.fill_(0.6)
    assert difference(restless(model)) <= 1e-5
    inputs = {one.name for one in graph_of(subject_of(model)).graph.input}
    is_twice = method == "lb"
    assert inputs == {"visible", "visible.length"} | (
        set() if is_twice else {"victim", "victim.length"}
    )


def test_three_modalities_strong_layers_scalings_and_gaps_that_were_learned(all_clips):
    settings = {"centre": "m1,m2", "differences": "m1", "scale": "common", "members": 2, **STRONG}
    model = mmalign.MMAlign(method="mmalign", **TINY, **settings).fit(HOLES)
    model.fitted.model.backbone.learn_gaps(["m1", "m3"])
    assert difference(restless(model)) <= 1e-5


def test_one_modality_alone():
    model = mmalign.MMAlign(method="ub", modalities=["m2"], **TINY).fit(TWO)
    assert difference(restless(model)) <= 1e-5


@pytest.mark.parametrize("method", STEP_BY_STEP)
def test_what_writes_step_by_step_is_refused(method, tmp_path):
    assert set(get_args(Decoding)) == {"cached", "uncached", "parallel"}
    model = mmalign.MMAlign(method=method, **TINY).fit(TWO)
    with pytest.raises(ConfigError, match="train modal-trans-parallel"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_an_imputer_of_ones_own_is_refused(tmp_path):
    class Mine(ZeroFill):
        """Nobody has written a graph for it."""

    model = mmalign.MMAlign(method="zero-fill", **TINY).fit(HOLES)
    for way in model.fitted.model.bank.ways:
        way.imputer = Mine()
    with pytest.raises(ConfigError, match="Mine cannot be exported"):
        export_onnx(model, tmp_path / "model.onnx")


@pytest.mark.nightly
def test_the_longest_and_the_largest_batch(monkeypatch):
    monkeypatch.setattr("mmalign.export.parity.BATCHES", ((64, 512), (1, 512), (33, 100)))
    assert difference(restless(mmalign.MMAlign(method="mmalign", **TINY).fit(HOLES))) <= 1e-5
