"""Training without autograd: the same losses and weights, and the same memory of the optimiser."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from mmalign.data import Classification, Regression
from mmalign.imputers import Direction
from mmalign.model.streams import Streams
from mmalign.predictor.scaling import AS_PRINTED, Scaling
from mmalign.training.config import Config
from mmalign.training.denoise import DenoisingTraining, make_optimizers
from mmalign.training.direct import DirectTraining, can_go_directly, denoising_training
from mmalign.training.distributed import World
from mmalign.training.losses import TrainingError, imputed_loss
from mmalign.training.meta import meta_loss
from mmalign.training.methods import build_model

PAIR = ("text", "visual")
DIMS = dict(zip(PAIR, (7, 4), strict=True))
CLASSES = Classification(("a", "b", "c"))
NUMBER = Regression(-3, 3)
CASES = {
    "as printed": {},
    "classes": {"task": CLASSES},
    "other lengths": {"ratio": 0.6},
    "gaps": {"has_gaps": True},
    "larger": {"dim": 32, "heads": 4, "encoder_layers": 2, "fusion_layers": 2, "kernel": 3},
    "no positions": {"fusion_positions": False, "contrastive_weight": 0.0, "clip_norm": 0.01},
}


def some(count: int, *, is_complete: bool, task=NUMBER, ratio=1.0, has_gaps=False) -> list[Streams]:
    random = torch.Generator().manual_seed(int(is_complete))
    found = []
    for number in range(count):
        lengths = torch.randint(1, 20, (8,), generator=random)
        counts = lengths, (lengths * ratio).round().long().clamp(min=1)
        features = {
            name: 2 + torch.randn(8, int(own.max()), dim, generator=random)
            for (name, dim), own in zip(DIMS.items(), counts, strict=True)
        }
        observed = {
            name: torch.rand(8, int(own.max()), generator=random) > 0.3
            for name, own in zip(PAIR, counts, strict=True)
            if has_gaps and number % 2
        }
        labels = torch.randn(8, generator=random)
        if task is CLASSES:
            labels = torch.randint(3, (8,), generator=random)
        ids = tuple(f"{number}-{row}" for row in range(8))
        lengths = dict(zip(PAIR, counts, strict=True))
        batch = Streams(ids, labels, features, lengths, observed)
        found.append(batch if is_complete else batch.without(["visual"]))
    return found


def made(kind, *, task=NUMBER, ratio=1.0, has_gaps=False, scalings=None, **changes):
    defaults = {"dim": 16, "heads": 2, "window": 4, "dropout": 0.0, "compiled_layers": True}
    config = Config(**(defaults | changes))
    torch.manual_seed(0)
    model = build_model(config, task, DIMS, [Direction(*PAIR)], scalings)
    model.label_mean.fill_(0.3)
    model.label_scale.fill_(1.7)
    model.bank[PAIR].length_ratio.fill_(ratio)
    if has_gaps:
        model.backbone.learn_gaps(PAIR)
    with torch.no_grad():
        for scaler in model.scalers:
            scaler.mean.fill_(2.0)
            scaler.scale.fill_(1.5)
    return kind(model.train(), make_optimizers(model, config), config)


def assert_alike(one: DenoisingTraining, other: DenoisingTraining, *, atol: float) -> None:
    assert one.losses.keys() == other.losses.keys()
    for name, losses in one.losses.items():
        assert other.losses[name] == pytest.approx(losses, abs=1e-5), name
    learned = dict(other.model.named_parameters())
    for name, weight in one.model.named_parameters():
        found = learned[name]
        if name.endswith("key_value.bias"):  # the half of the keys changes no answer at all
            weight, found = weight.chunk(2)[1], found.chunk(2)[1]
        # Slopes of a fitter may be next to nothing, of which Adam makes a step like any other.
        close = atol if name.startswith("backbone") else 10 * atol
        torch.testing.assert_close(found, weight, rtol=0, msg=name, atol=close)


def assert_same_bits(one: DenoisingTraining, other: DenoisingTraining) -> None:
    for mine, theirs in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("case", CASES)
def test_losses_and_weights_after_20_steps_are_those_of_autograd(case):
    changes = CASES[case]
    data = {k: v for k, v in changes.items() if k in ("task", "ratio", "has_gaps")}
    complete, missing = some(5, is_complete=True, **data), some(10, is_complete=False, **data)
    plain = made(DenoisingTraining, **(changes | {"compiled_layers": False}))
    direct = made(DirectTraining, **changes)
    for training in (plain, direct):
        training.warm_up(complete)
        training.epoch(complete, missing)
    assert len(plain.losses["complete"]) + len(plain.losses["missing"]) == 20
    assert_alike(plain, direct, atol=1e-5)


def some_otherwise(count: int, *, without: str) -> list[Streams]:
    """Batches of complete clips of which half lack a modality."""
    found = []
    for batch in some(count, is_complete=True):
        lengths = dict(batch.lengths)
        lengths[without] = lengths[without] * (torch.arange(8) % 2)
        features = {name: own.clone() for name, own in batch.features.items()}
        features[without][::2] = 0
        found.append(replace(batch, lengths=lengths, features=features))
    return found


@pytest.mark.parametrize("without", PAIR)
def test_batches_of_other_clips_than_the_paper_s_are_left_to_autograd(without):
    complete = some(2, is_complete=True)
    missing = some(2, is_complete=False)
    missing[1:1] = some_otherwise(2, without=without)
    plain, direct = made(DenoisingTraining), made(DirectTraining)
    for training in (plain, direct):
        training.epoch(complete, missing)
    assert_alike(plain, direct, atol=1e-5)


def test_a_complete_split_with_holes_is_left_to_autograd():
    holed = some_otherwise(2, without="visual")
    complete = [*some(1, is_complete=True), *holed, *some(2, is_complete=True)[1:]]
    plain, direct = (made(k, contrastive_weight=0.0) for k in (DenoisingTraining, DirectTraining))
    for training in (plain, direct):
        training.warm_up(complete)
        training.epoch(complete, [])
    assert_alike(plain, direct, atol=1e-5)


def test_dropout_hits_what_it_hits_in_compiled_layers():
    complete, missing = some(3, is_complete=True), some(4, is_complete=False)
    found = [made(kind, dropout=0.2) for kind in (DenoisingTraining, DirectTraining)]
    for training in found:
        torch.manual_seed(3)
        training.epoch(complete, missing)
    assert_alike(*found, atol=5e-5)


def test_epochs_with_and_without_autograd_take_turns():
    """The optimiser's means and counts go back and forth with the weights."""
    complete, missing = some(3, is_complete=True), some(4, is_complete=False)
    plain, mixed = made(DenoisingTraining), made(DenoisingTraining)
    for _ in range(3):
        plain.epoch(complete, missing)
    direct = DirectTraining(mixed.model, mixed.optimizers, mixed.config)
    mixed.epoch(complete, missing)
    direct.epoch(complete, missing)
    mixed.epoch(complete, missing)
    mixed.losses = plain.losses
    assert_alike(plain, mixed, atol=1e-5)
    slots = [training.optimizers.main.slots for training in (plain, mixed)]
    assert slots[0].keys() == slots[1].keys()
    for index, own in slots[0].items():
        assert int(own["step"]) == int(slots[1][index]["step"])


def test_a_resumed_epoch_gives_the_same_bits():
    complete, missing = some(3, is_complete=True), some(4, is_complete=False)
    one, other = made(DirectTraining, dropout=0.1), made(DirectTraining, dropout=0.1)
    torch.manual_seed(1)
    one.epoch(complete, missing)
    other.model.load_state_dict(one.model.state_dict())
    for name in ("main", "fit"):
        state = getattr(one.optimizers, name).state_dict()
        getattr(other.optimizers, name).load_state_dict(state)
    for training in (one, other):
        torch.manual_seed(2)
        training.epoch(complete, missing)
    assert_same_bits(one, other)


def test_hidden_features_of_a_missing_victim_are_never_read():
    missing = some(4, is_complete=False)
    clean, spoiled = made(DirectTraining), made(DirectTraining)
    clean.epoch([], missing)
    for batch in missing:
        batch.features["visual"] = torch.full((8, 20, 4), torch.nan)
    spoiled.epoch([], missing)
    assert_same_bits(clean, spoiled)


def test_scales_and_the_ratio_of_lengths_that_are_loaded_count():
    """As where a run goes on: its checkpoint is loaded after all else was made."""
    complete, missing = some(3, is_complete=True), some(4, is_complete=False)

    def rescaled(model, *others) -> DirectTraining:
        for scaler in model.scalers:
            scaler.mean.fill_(1.0)
            scaler.scale.fill_(2.5)
        return DirectTraining(model, *others)

    expected, loaded = made(rescaled, ratio=0.6), made(DirectTraining)
    loaded.model.load_state_dict(expected.model.state_dict())
    for training in (expected, loaded):
        training.epoch(complete, missing)
    assert_same_bits(expected, loaded)


@pytest.mark.parametrize("is_complete", [True, False])
def test_a_loss_that_is_no_number_names_its_clips(is_complete):
    batches = some(2, is_complete=is_complete)
    batches[1].labels[3] = torch.nan
    training = made(DirectTraining)
    with pytest.raises(TrainingError, match=r"loss is nan on the batch with clips 1-0, 1-1"):
        training.epoch(*((batches, []) if is_complete else ([], batches)))


@pytest.mark.parametrize(
    "changes",
    [
        {"compiled_layers": False},
        {"norm": "pre"},
        {"pool": "cls+mean+max"},
        {"both_passes": True},
        {"separated": True},
        {"step_contrast_weight": 0.1},
        {"average": 0.9},
        {"method": "zero-fill"},
        {"scalings": {"text": Scaling(centre=True), "visual": AS_PRINTED}},
    ],
)
def test_what_is_not_covered_is_left_to_autograd(changes):
    made(lambda model, optimizers, config: _assert_kind(model, optimizers, config), **changes)


def _assert_kind(model, optimizers, config):
    assert type(denoising_training(model, optimizers, config)) is DenoisingTraining


def test_the_paper_s_pair_goes_directly_unless_something_is_in_the_way():
    training = made(DirectTraining)
    model, config = training.model, training.config
    how = {"missing_loss": imputed_loss, "world": World(), "longest": 512}
    assert can_go_directly(model, config, **how)
    assert type(denoising_training(model, training.optimizers, config)) is DirectTraining
    assert not can_go_directly(model, config, **(how | {"longest": 513}))
    assert not can_go_directly(model, config, **(how | {"world": World(rank=0, size=2)}))
    assert not can_go_directly(model, config, **(how | {"missing_loss": meta_loss}))
    torch.manual_seed(0)
    both = build_model(config, NUMBER, DIMS, [Direction(*PAIR), Direction(*PAIR[::-1])])
    assert not can_go_directly(both, config, **how)


@pytest.mark.parametrize("is_complete", [True, False])
def test_memory_of_a_step_is_used_again(is_complete):
    batches = some(1, is_complete=is_complete) * 6
    epoch = (batches, []) if is_complete else ([], batches)
    seen = []

    def look() -> None:
        arena = small.network.arena
        seen.append((arena.numbers, arena.used))

    small, large = made(partial(DirectTraining, after_step=look)), made(DirectTraining)
    small.network.arena.numbers = np.empty(100, np.float32)
    small.epoch(*epoch)
    *_, (before, used), (after, used_again) = seen
    assert after is before
    assert used_again == used
    assert len(after) > 100
    large.epoch(*epoch)
    assert_same_bits(small, large)


def test_between_epochs_no_memory_of_steps_is_kept():
    """Members of an ensemble train in turn, and would each keep their own."""
    training = made(DirectTraining)
    complete, missing = some(2, is_complete=True), some(2, is_complete=False)
    for train in (training.warm_up, partial(training.epoch, missing=missing)):
        training.network.arena.take(3 << 20)
        train(complete)
        assert training.encoded == []
        assert training.network.arena.used == 0
        assert training.network.arena.numbers.size == 1 << 20
