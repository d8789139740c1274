"""Compiled layers are torch's to rounding, forward and backward, and so is what they learn."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mmalign.data import Regression
from mmalign.imputers import Direction
from mmalign.model import compiled_layers
from mmalign.model.config import BackboneConfig
from mmalign.model.encoder import Encoder
from mmalign.model.fusion import Fusion
from mmalign.model.hidden import Hidden, is_valid
from mmalign.model.streams import Streams
from mmalign.training.config import Config
from mmalign.training.denoise import DenoisingTraining, make_optimizers
from mmalign.training.methods import build_model

SIZES = (
    {"dim": 16, "heads": 2, "kernel": 3},
    {"dim": 32, "heads": 4, "encoder_layers": 2, "fusion_layers": 2},
    {"dim": 48, "heads": 3, "kernel": 1, "fusion_positions": False},
)
LENGTHS = torch.tensor([5, 1, 9, 17])
CLOSE = {"atol": 2e-5, "rtol": 2e-5}


def made(kind, *arguments, **settings):
    """The same weights in torch's layers and in compiled ones."""
    torch.manual_seed(0)
    plain = kind(*arguments, **settings)
    if isinstance(plain, Encoder):
        plain.learn_gap()
    with torch.no_grad():
        for weight in plain.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    return plain


def pair_of(make, size, **changes):
    config = BackboneConfig(**{"dropout": 0.0, **size, **changes})
    plain, compiled = made(make, config), made(make, replace(config, compiled_layers=True))
    assert compiled.is_compiled
    compiled.load_state_dict(plain.state_dict())
    return plain, compiled


def slopes(answer: torch.Tensor, weights: torch.Tensor, *leaves: torch.Tensor):
    return torch.autograd.grad((answer * weights).sum(), leaves, allow_unused=True)


def whole(hidden: Hidden) -> torch.Tensor:
    return torch.cat((hidden.head[:, None], hidden.steps), dim=1)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("has_gaps", [False, True])
def test_encoders_answer_and_learn_alike(size, has_gaps):
    plain, compiled = pair_of(lambda config: Encoder(7, config), size)
    features = torch.randn(4, 17, 7)
    features[0, 5:] = torch.nan  # padding is never looked at
    observed = torch.rand(4, 17) > 0.3 if has_gaps else None
    answers = [whole(encode(features, LENGTHS, observed)) for encode in (plain, compiled)]
    torch.testing.assert_close(answers[1], answers[0], **CLOSE)
    weights = torch.randn_like(answers[0])
    found = [
        slopes(answer, weights, *encode.parameters())
        for answer, encode in zip(answers, (plain, compiled), strict=True)
    ]
    names = [name for name, _ in plain.named_parameters()]
    for name, expected, slope in zip(names, *found, strict=True):
        assert (slope is None) == (expected is None), name  # a gap that is nowhere stays as it is
        if slope is not None:
            torch.testing.assert_close(slope, expected, atol=2e-4, rtol=2e-4, msg=name)


def sequences(lengths: list[int], dim: int) -> Hidden:
    counts = torch.tensor(lengths)
    steps = torch.randn(len(lengths), int(counts.max()), dim)
    steps = steps * is_valid(counts, steps.shape[1])[..., None]
    head = torch.randn(len(lengths), dim)
    return Hidden(head.requires_grad_(), steps.requires_grad_(), counts)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("modalities", [1, 2, 3])
def test_fusions_answer_and_learn_alike(size, modalities):
    plain, compiled = pair_of(lambda config: Fusion(config, modalities), size)
    lengths = [[5, 1, 9], [5, 1, 9], [3, 8, 2]][:modalities]
    hidden = [sequences(counts, size["dim"]) for counts in lengths]
    leaves = [leaf for one in hidden for leaf in (one.head, one.steps)]
    answers = plain(*hidden), compiled(*hidden)
    torch.testing.assert_close(answers[1], answers[0], **CLOSE)
    weights = torch.randn_like(answers[0])
    found = [
        slopes(answer, weights, *leaves, *fuse.parameters())
        for answer, fuse in zip(answers, (plain, compiled), strict=True)
    ]
    for expected, slope in zip(*found, strict=True):
        expected = torch.zeros_like(slope) if expected is None else expected
        torch.testing.assert_close(slope, expected, atol=2e-4, rtol=2e-4)


def test_dropout_drops_its_share_and_its_slopes_are_those_of_what_it_left():
    config = BackboneConfig(dropout=0.25, compiled_layers=True)
    encode = made(Encoder, 7, config)
    features = torch.randn(4, 17, 7)

    def answer() -> torch.Tensor:
        torch.manual_seed(1)
        return whole(encode(features, LENGTHS)).square().sum()

    weights = list(encode.parameters())
    found = torch.autograd.grad(answer(), weights, allow_unused=True)
    assert answer().item() == answer().item()
    torch.manual_seed(2)
    assert whole(encode(features, LENGTHS)).square().sum().item() != answer().item()
    for weight, slope in zip(weights, found, strict=True):
        if slope is None or slope.norm() < 1e-3:
            continue
        way = slope / slope.norm()
        size = 1e-2 / max(1.0, float(slope.norm()) ** 0.5)
        with torch.no_grad():
            values = []
            for sign in (size, -2 * size, size):
                weight.add_(sign * way)
                values.append(answer().item())
        assert (values[0] - values[1]) / (2 * size) == pytest.approx(float(slope.norm()), rel=0.1)
    kernels = compiled_layers.kernels("model.kernels.training")
    ones = np.ones(200_000, np.float32)
    kernels.drop(ones, len(ones), np.uint32(5), np.uint32(64))
    assert (ones == 0).mean() == pytest.approx(0.25, abs=0.01)
    assert ones.mean() == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("changes", [{"norm": "pre"}, {"attention_band": 2}, {"dim": 8}])
def test_what_is_not_covered_is_left_to_torch(changes):
    config = BackboneConfig(**{"dropout": 0.0, "compiled_layers": True, **changes})
    assert not compiled_layers.can_be_compiled(config)
    plain = made(Encoder, 3, replace(config, compiled_layers=False))
    features = torch.randn(4, 17, 3)
    answers = [whole(e(features, LENGTHS)) for e in (plain, made(Encoder, 3, config))]
    assert torch.equal(*answers)


def test_long_clips_other_types_and_features_with_slopes_are_left_to_torch(monkeypatch):
    plain, compiled = pair_of(lambda config: Encoder(3, config), SIZES[0])
    features = torch.randn(4, 17, 3)
    given = features.clone().requires_grad_()
    assert torch.equal(whole(compiled(given, LENGTHS)), whole(plain(given, LENGTHS)))
    doubled = compiled.double()(features.double(), LENGTHS)
    assert torch.equal(whole(doubled), whole(plain.double()(features.double(), LENGTHS)))
    monkeypatch.setattr(compiled_layers, "LONGEST", 16)
    assert compiled_layers.layer_kernels(17, features) is None
    assert compiled_layers.layer_kernels(16, features) is not None


PAIR = ("text", "visual")


def batches(count: int, *, is_complete: bool) -> list[Streams]:
    random = torch.Generator().manual_seed(count)
    found = []
    for number in range(count):
        lengths = torch.randint(1, 12, (8,), generator=random)
        features = {
            name: 2 + torch.randn(8, int(lengths.max()), dim, generator=random)
            for name, dim in zip(PAIR, (7, 4), strict=True)
        }
        ids = tuple(f"{number}-{row}" for row in range(8))
        labels = torch.randn(8, generator=random)
        batch = Streams(ids, labels, features, dict.fromkeys(PAIR, lengths), {})
        found.append(batch if is_complete else batch.without(["visual"]))
    return found


def trained(**changes) -> DenoisingTraining:
    config = Config(dim=16, heads=2, window=3, dropout=0.0, **changes)
    torch.manual_seed(0)
    dims = dict(zip(PAIR, (7, 4), strict=True))
    model = build_model(config, Regression(-3, 3), dims, [Direction(*PAIR)])
    training = DenoisingTraining(model, make_optimizers(model, config), config)
    training.epoch(batches(5, is_complete=True), batches(10, is_complete=False))
    return training


def test_losses_and_weights_after_20_steps_are_those_of_torch_s_layers():
    plain, compiled = trained(), trained(compiled_layers=True)
    assert sum(map(len, plain.losses.values())) >= 20
    for name, losses in plain.losses.items():
        assert compiled.losses[name] == pytest.approx(losses, abs=1e-5), name
    learned = dict(compiled.model.named_parameters())
    for name, weight in plain.model.named_parameters():
        other = learned[name]
        if name.endswith("key_value.bias"):  # the half of the keys changes no answer at all
            weight, other = weight.chunk(2)[1], other.chunk(2)[1]
        torch.testing.assert_close(other, weight, atol=1e-5, rtol=0, msg=name)


def test_a_method_that_differentiates_twice_keeps_torch_s_layers():
    config = Config(method="smil", compiled_layers=True)
    model = build_model(config, Regression(), {"text": 3, "visual": 2}, [Direction(*PAIR)])
    assert not model.backbone.fuse.is_compiled
