"""The meta-learning step: inner, outer, and the gradient of second order through both."""

import itertools

import pytest
import torch
from torch.func import functional_call

from mmalign.training.losses import TrainingError
from mmalign.training.meta import INNER_RATE, REGULARISATION_WEIGHT, RegularisedTask, meta_loss
from tests.training.test_denoise import has_changed, make_training, snapshot


def make_smil(**changes):
    """A training in double precision and without noise, with centres that are not zeros."""
    training, complete, missing = make_training(method="smil", **changes)
    training.missing_loss = meta_loss
    model = training.model.double()
    torch.manual_seed(1)
    model.bank.only.centres.normal_()
    complete, missing = ([b.to(torch.float64) for b in part] for part in (complete, missing))
    return training, complete, missing


def seeded_loss(model, missing, complete) -> torch.Tensor:
    torch.manual_seed(0)  # the same noise at every call
    return meta_loss(model, missing, itertools.repeat(complete))


@pytest.mark.parametrize("band", [0, 2])
def test_the_gradient_is_that_of_the_two_level_function(band):
    """Finite differences of the whole loss, inner step included, along random directions."""
    training, complete, missing = make_smil(attention_band=band)
    model = training.model
    parameters = [*model.backbone.parameters(), *model.bank.task_parameters()]
    loss = seeded_loss(model, missing[0], complete[0])
    gradients = torch.autograd.grad(loss, parameters, materialize_grads=True)
    random = torch.Generator().manual_seed(3)
    for _ in range(3):
        directions = [torch.randn(p.shape, generator=random).double() for p in parameters]
        expected = sum((g * d).sum() for g, d in zip(gradients, directions, strict=True))
        values = []
        for sign in (1, -1):
            with torch.no_grad():
                for p, d in zip(parameters, directions, strict=True):
                    p.add_(d, alpha=sign * 1e-6)
            values.append(seeded_loss(model, missing[0], complete[0]).item())
            with torch.no_grad():
                for p, d in zip(parameters, directions, strict=True):
                    p.sub_(d, alpha=sign * 1e-6)
        assert (values[0] - values[1]) / 2e-6 == pytest.approx(expected.item(), rel=1e-4)


def test_the_gradient_has_a_part_of_second_order(monkeypatch):
    """Cutting the inner gradient off (first-order MAML) changes it; a larger inner step, more."""
    training, complete, missing = make_smil()
    model = training.model
    monkeypatch.setattr("mmalign.training.meta.INNER_RATE", 0.5)
    weights = list(model.bank.only.weigh.parameters())
    second = torch.autograd.grad(seeded_loss(model, missing[0], complete[0]), weights)

    torch.manual_seed(0)
    task = RegularisedTask(model)
    inner = task(missing[0])
    fast = task.learning_weights()
    steps = torch.autograd.grad(inner, list(fast.values()), retain_graph=True)
    stepped = {n: w - 0.5 * g for (n, w), g in zip(fast.items(), steps, strict=True)}
    outer = functional_call(task, stepped, (complete[0].without(["victim"]),))
    first = torch.autograd.grad(inner + outer, weights)
    assert (inner + outer).item() == seeded_loss(model, missing[0], complete[0]).item()
    assert max((a - b).abs().max() for a, b in zip(first, second, strict=True)) > 1e-4


def test_the_outer_loss_is_the_task_s_after_a_plain_step():
    """The naive way: really change the weights, evaluate, and change them back."""
    training, complete, missing = make_smil()
    model = training.model
    total = seeded_loss(model, missing[0], complete[0]).item()
    task = RegularisedTask(model)
    torch.manual_seed(0)
    inner = task(missing[0])
    inner.backward()
    with torch.no_grad():
        for weight in task.learning_weights().values():
            weight.sub_(INNER_RATE * weight.grad)
    assert total == pytest.approx(
        inner.item() + task(complete[0].without(["victim"])).item(), abs=1e-12
    )


def test_the_inner_step_leaves_the_victim_s_encoder_and_the_imputer_alone():
    training, *_ = make_smil()
    changed = RegularisedTask(training.model).learning_weights()
    parts = {".".join(name.split(".")[2:4]) for name in changed}
    assert {part for part in parts if part.startswith("encoders")} == {"encoders.0"}
    assert {name.split(".")[2] for name in changed} == {"encoders", "fuse", "head"}


def test_the_regularisation_is_weighed_in():
    training, complete, _ = make_smil()
    model = training.model
    task = RegularisedTask(model)
    torch.manual_seed(0)
    small = task(complete[0].without(["victim"]))
    known = model.known(complete[0].without(["victim"]))
    visible = known["visible"].hidden
    torch.manual_seed(0)
    regularised = model.bank.only.regularised(visible)
    inside = visible.steps != 0
    distance = (regularised.steps - visible.steps)[inside].square().mean()
    distance = distance + (regularised.head - visible.head).square().mean()
    outputs = model.backbone.predict({**model.completed(known), "visible": regularised})
    expected = torch.nn.functional.cross_entropy(outputs, complete[0].labels)
    torch.testing.assert_close(small, expected + REGULARISATION_WEIGHT * distance)


def test_missing_batches_cycle_over_complete_ones_and_train_backbone_and_imputer():
    training, complete, missing = make_smil(fit=False)
    seen = []

    def spy(model, batch, companions):
        companion = next(companions)
        seen.append(companion.ids)
        return meta_loss(model, batch, iter([companion]))

    training.missing_loss = spy
    backbone, imputer = snapshot(training.model.backbone), snapshot(training.model.bank)
    training.epoch(complete[:2], missing)
    assert len(missing) == 3
    assert seen == [complete[0].ids, complete[1].ids, complete[0].ids]
    assert has_changed(training.model.backbone, backbone)
    assert has_changed(training.model.bank, imputer)


def test_without_missing_batches_complete_ones_are_trained_alone():
    training, complete, _ = make_smil()
    training.epoch(complete, [])
    losses = training.mean_losses()
    assert "missing" not in losses
    assert {"fit", "complete"} <= losses.keys()


def test_clips_without_labels_are_refused():
    from dataclasses import replace

    training, complete, missing = make_smil()
    with pytest.raises(TrainingError, match="no labels"):
        meta_loss(training.model, replace(missing[0], labels=None), iter(complete))
