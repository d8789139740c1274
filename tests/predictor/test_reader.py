"""The reader answers as the network does: any number of modalities, any pattern, gaps."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import mmalign
from mmalign.data import Regression, Split, columns
from mmalign.data.clip import Clip
from mmalign.data.columns import StoredColumn
from mmalign.data.gaps import with_gaps
from mmalign.data.pickles import map_file
from mmalign.evaluation.predictions import NonFiniteOutputError
from mmalign.imputers import Direction
from mmalign.model.kernels.products import tanh_of
from mmalign.predictor import engine
from mmalign.predictor.predictor import Predictor
from mmalign.predictor.reader import quick_answers, quick_outputs
from mmalign.predictor.readers import fresh_reader_of, reader_of
from mmalign.training.config import Config
from mmalign.training.methods import build_model
from tests.data.test_columns import resident
from tests.training.joint import TINY, restless, whole_twin, with_holes

TWIN = whole_twin()
HOLES = with_holes(TWIN)
STRONG = {"norm": "pre", "pool": "cls+mean+max", "encoder_layers": 2, "fusion_layers": 2}
KINDS = {
    "paper": {"method": "mmalign"},
    "strong": {"method": "mmalign", "centre": "m1,m2", "differences": "m1", **STRONG},
    "wide": {"method": "mmalign", "dim": 20, "heads": 5, "kernel": 3, "fusion_positions": False},
    "copy": {"method": "copy"},
    "mean": {"method": "mean-fill"},
    "zero": {"method": "zero-fill"},
}


def clips_of(model, count: int, longest: int, *, all_have: tuple[str, ...] = ()) -> list[Clip]:
    """Clips of any pattern and lengths, some with gaps."""
    random = np.random.default_rng(longest)
    found = []
    for number in range(count):
        sequences = {}
        for name, dim in model.fitted.features().items():
            length = int(random.integers(1, longest + 1))
            steps = random.normal(size=(length, dim)).astype(np.float32)
            is_there = random.random(length) < (1.0 if number % 3 else 0.7)
            sequences[name] = with_gaps(steps, is_there)
            if name not in all_have and random.random() < 0.4:
                sequences[name] = None
        if all(steps is None for steps in sequences.values()):
            sequences["m1"] = np.ones((2, model.fitted.features()["m1"]), np.float32)
        there = {n: ~np.isnan(s[:, 0]) for n, s in sequences.items() if s is not None}
        found.append(Clip(f"c{number}", None, sequences, observed=there))
    return found


def assert_same(model, clips) -> None:
    split = model.prepared(clips)
    expected = model.fitted.outputs(split)
    found = reader_of(model.fitted.model).outputs(split)
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5, rtol=1e-5)


@pytest.fixture(scope="module")
def model():
    return restless(mmalign.MMAlign(**KINDS["paper"], **TINY).fit(HOLES))


@pytest.mark.parametrize("kind", KINDS)
def test_networks_of_three_modalities(kind):
    model = restless(mmalign.MMAlign(**{**TINY, **KINDS[kind]}).fit(HOLES))
    if kind == "strong":
        model.fitted.model.backbone.learn_gaps(["m1"])
        restless(model)
    assert_same(model, clips_of(model, 40, 30))


def test_long_clips_and_one_alone(model):
    assert_same(model, clips_of(model, 3, 200))
    assert_same(model, clips_of(model, 1, 5))


def test_a_pair_mixes_by_its_gate():
    two = whole_twin(2)
    pair = mmalign.MMAlign("m2", "m1", **TINY).fit(two["train"], valid=two["valid"])
    pair.fitted.model.gate.fill_(0.3)
    assert_same(restless(pair), clips_of(pair, 30, 20, all_have=("m2",)))


def test_estimators_answer_by_the_reader(model, monkeypatch):
    clips = clips_of(model, 9, 12)
    expected = model.fitted.outputs(model.prepared(clips)).softmax(dim=-1).numpy()
    monkeypatch.setattr(type(model.fitted), "outputs", None)  # not asked
    np.testing.assert_allclose(model.predict_proba(clips), expected, atol=1e-5)
    assert (model.answers(clips) == expected.argmax(axis=1)).all()


def test_members_answer_as_their_mean_before_and_after_saving(tmp_path):
    model = restless(mmalign.MMAlign(method="mmalign", members=2, **TINY).fit(HOLES))
    clips = clips_of(model, 9, 12)
    split = model.prepared(clips)
    shares = [
        replace(model.fitted, model=m, others=()).outputs(split) for m in model.fitted.members
    ]
    mean = torch.stack(shares).softmax(dim=-1).mean(dim=0).numpy()
    np.testing.assert_allclose(model.predict_proba(clips), mean, atol=1e-5)
    torch.testing.assert_close(quick_outputs(model.fitted, split), model.fitted.outputs(split))
    model.save(tmp_path / "saved")
    again = mmalign.load(tmp_path / "saved")
    assert again.get_params()["members"] == 2
    assert (again.predict_proba(clips) == model.predict_proba(clips)).all()


def test_numbers_are_those_of_the_network_where_labels_were_scaled():
    two = whole_twin(2)
    clips = [dict(clip.sequences, label=float(n)) for n, clip in enumerate(two["train"])]
    pair = mmalign.MMAlign("m2", "m1", **TINY).fit(clips)
    clips = clips_of(pair, 9, 12, all_have=("m2",))
    split = pair.prepared(clips)
    expected = pair.fitted.to_labels(pair.fitted.outputs(split))
    np.testing.assert_allclose(quick_answers(pair.fitted, split), expected, atol=1e-4)
    pair.fitted.model.label_mean.add_(100.0)
    np.testing.assert_allclose(pair.predict(clips), expected + 100, atol=1e-3)


def test_weights_that_change_are_noticed(model):
    split = model.prepared(clips_of(model, 4, 9))
    before = quick_outputs(model.fitted, split)
    bias = model.fitted.model.backbone.head[2].bias
    with torch.no_grad():
        bias.add_(1.0)
    after = quick_outputs(model.fitted, split)
    with torch.no_grad():
        bias.sub_(1.0)
    np.testing.assert_allclose(after, before + 1, atol=1e-6)


def assigned(network) -> None:
    network.load_state_dict(doubled(network), assign=True)


def doubled(network) -> dict[str, torch.Tensor]:
    return {name: 2 * tensor for name, tensor in network.state_dict().items()}


def moved(network) -> None:
    weights = doubled(network)
    network.to_empty(device="cpu").load_state_dict(weights)


def rounded(network) -> None:
    network.bfloat16().float()


@pytest.mark.parametrize("change", [assigned, moved, rounded])
def test_weights_elsewhere_are_noticed(change):
    model = restless(mmalign.MMAlign(**KINDS["paper"], **TINY).fit(HOLES))
    split = model.prepared(clips_of(model, 4, 9))
    before = quick_outputs(model.fitted, split)
    change(model.fitted.model)
    found = quick_outputs(model.fitted, split)
    assert not torch.allclose(found, before, atol=1e-4)
    torch.testing.assert_close(found, model.fitted.outputs(split), atol=1e-4, rtol=1e-4)


def test_a_fresh_reader_notices_what_happens_to_a_part_of_a_model():
    model = restless(mmalign.MMAlign(**KINDS["paper"], **TINY).fit(HOLES))
    split = model.prepared(clips_of(model, 4, 9))
    network = model.fitted.model
    before = fresh_reader_of(network).outputs(split)
    network.backbone.head[2].bias = torch.nn.Parameter(network.backbone.head[2].bias + 1)
    np.testing.assert_allclose(fresh_reader_of(network).outputs(split), before + 1, atol=1e-5)


def test_what_is_not_covered_is_left_to_torch(model, monkeypatch):
    for method in ("smil", "mfm"):
        other = mmalign.MMAlign(method=method, **TINY).fit(HOLES)
        assert reader_of(other.fitted.model) is None
        assert other.predict_proba(HOLES["test"]).shape == (7, 4)
    split = model.prepared(clips_of(model, 2, 30))
    expected = model.fitted.outputs(split)
    monkeypatch.setattr(engine, "LONGEST", 5)
    assert reader_of(model.fitted.model).outputs(split) is None
    torch.testing.assert_close(quick_outputs(model.fitted, split), expected, rtol=0, atol=0)
    double = mmalign.MMAlign(method="mmalign", **TINY).fit(HOLES)
    double.fitted.model.double()
    assert reader_of(double.fitted.model) is None


def test_no_clips_and_answers_that_are_not_finite(model):
    nothing = model.prepared(clips_of(model, 2, 5)).select([])
    assert quick_outputs(model.fitted, nothing).shape == (0, 4)
    huge = {"m1": np.full((3, 3), 3e38, np.float32)}
    with pytest.raises(NonFiniteOutputError, match="clip0"):
        model.predict(huge)


def test_read_only_features_are_not_compiled_for(model):
    steps = np.ones((4, 3), np.float32)
    expected = model.predict_proba({"m1": steps.copy()})
    steps.flags.writeable = False
    counts = len(reader_of(model.fitted.model).kernels.encode_all.signatures)
    np.testing.assert_array_equal(model.predict_proba({"m1": steps}), expected)
    assert len(reader_of(model.fitted.model).kernels.encode_all.signatures) == counts


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="Linux tells what is resident")
@pytest.mark.parametrize("ask", [Predictor.outputs, quick_outputs])
def test_a_mapped_split_is_not_in_memory_as_a_whole(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "AT_ONCE", 1 << 20)
    clips, steps, dim = 1 << 9, 16, 1 << 10
    torch.rand(clips * steps * dim).numpy().tofile(tmp_path / "numbers")  # 32 MB
    starts, lengths = 4 * steps * dim * np.arange(clips), np.full(clips, steps)
    config = Config(dim=16, heads=2, window=4, dropout=0.0, compiled_layers=True)
    both = build_model(config, Regression(-3, 3), {"a": dim, "b": dim}, [Direction("a", "b")])
    predictor = Predictor(both, Regression(-3, 3))

    def split(count: int) -> Split:
        stored = np.frombuffer(map_file(tmp_path / "numbers"), dtype=np.uint8)
        column = StoredColumn(stored, starts, lengths, dim)
        ids = tuple(map(str, range(clips)))
        return Split(ids, None, {"a": column, "b": column}).select(range(count))

    few = ask(predictor, split(40))  # what is computed once
    whole, before = split(clips), resident()
    found = ask(predictor, whole)
    assert resident() - before < 16 << 20
    torch.testing.assert_close(found[:40], few, atol=1e-6, rtol=1e-5)


def test_the_fraction_is_a_hyperbolic_tangent():
    x = np.linspace(-12, 12, 4001, dtype=np.float32)
    found = np.array([tanh_of(number) for number in x])
    np.testing.assert_allclose(found, np.tanh(x.astype(np.float64)), atol=4e-7)
    assert np.isnan(tanh_of(np.float32(np.nan)))
