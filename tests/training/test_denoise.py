"""Algorithm 1: who is changed by which step, and what happens to a loss that is no number."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mmalign.data.batching import Batches
from mmalign.model.hidden import is_valid
from mmalign.model.streams import Streams, to_streams
from mmalign.training.denoise import DenoisingTraining, make_optimizers
from mmalign.training.losses import TrainingError, contrastive_loss, step_contrast
from mmalign.training.methods import build_model
from tests.imputers.test_mmalign import hidden
from tests.training.small import small_config, small_dataset, small_protocol


def make_training(**changes):
    config = small_config(dropout=0.0, **changes)
    dataset = small_protocol().apply(small_dataset())
    torch.manual_seed(0)
    model = build_model(config, dataset.task, {"visible": 6, "victim": 6}, [("visible", "victim")])
    train = dataset["train"]
    is_complete = train.is_present("victim")
    halves = [train.select(np.flatnonzero(chosen)) for chosen in (is_complete, ~is_complete)]
    complete, missing = (
        [
            to_streams(b, ("visible", "victim"))
            for b in Batches(half, dataset.dims, batch_size=8).in_order()
        ]
        for half in halves
    )
    return DenoisingTraining(model, make_optimizers(model, config), config), complete, missing


def snapshot(module: torch.nn.Module) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


def has_changed(module: torch.nn.Module, before: list[torch.Tensor]) -> bool:
    return any(not torch.equal(p, b) for p, b in zip(module.parameters(), before, strict=True))


def test_fit_steps_change_the_fitter_only():
    training, complete, _ = make_training(separated=True)
    model = training.model
    backbone, imputer = snapshot(model.backbone), snapshot(model.bank)
    training._step_imputers(complete[0], training._encode_frozen(complete[0]))
    assert has_changed(model.bank, imputer)
    assert not has_changed(model.backbone, backbone)


@pytest.mark.parametrize("switches", [{}, {"both_passes": True, "step_contrast_weight": 0.5}])
def test_backbone_steps_never_change_the_fitter(switches):
    training, complete, missing = make_training(fit=False, **switches)
    model = training.model
    backbone, imputer = snapshot(model.backbone), snapshot(model.bank)
    training.warm_up(complete)
    training.epoch(complete, missing)
    assert has_changed(model.backbone, backbone)
    assert not has_changed(model.bank, imputer)


def test_separated_iterations_fit_first_and_do_the_same_work():
    training, complete, missing = make_training(separated=True)
    imputer = snapshot(training.model.bank)
    training.epoch(complete, missing)
    losses = training.mean_losses()
    assert has_changed(training.model.bank, imputer)
    assert {"fit", "main", "complete", "missing", "contrastive"} <= losses.keys()
    assert training.mean_losses() == {}


def test_without_contrastive_loss_there_is_none():
    training, complete, missing = make_training(contrastive_weight=0.0)
    training.epoch(complete, missing)
    assert "contrastive" not in training.mean_losses()


def test_a_loss_that_is_no_number_stops_training_and_names_the_batch():
    training, _, missing = make_training()
    with torch.no_grad():
        training.model.backbone.head[0].weight.fill_(float("nan"))
    before = snapshot(training.model.bank)
    with pytest.raises(TrainingError, match=rf"the missing loss is nan .* {missing[0].ids[0]}"):
        training.epoch([], missing)
    assert not has_changed(training.model.bank, before)


def test_the_contrastive_loss_is_low_when_heads_agree():
    first = hidden([4, 4, 4], seed=1)
    same = contrastive_loss(first, first, temperature=0.1)
    other = contrastive_loss(first, hidden([4, 4, 4], seed=2), temperature=0.1)
    assert same < 0.2 < other
    alone = contrastive_loss(hidden([4]), hidden([4], seed=2), temperature=0.1)
    assert alone == 0


def test_step_contrast_is_low_when_the_window_holds_the_same_step():
    first = hidden([8, 8, 8], seed=1)
    shifted = type(first)(first.head, first.steps.roll(1, dims=1), first.lengths)
    found = step_contrast(first, shifted, window=1, temperature=0.05)
    lost = step_contrast(
        first,
        type(first)(first.head, first.steps.roll(4, dims=1), first.lengths),
        window=1,
        temperature=0.05,
    )
    assert found < 0.5 * lost
    assert step_contrast(hidden([4]), hidden([4], seed=2), window=1, temperature=0.1) == 0


def test_what_stands_in_a_gap_changes_no_gradient_and_the_gap_is_learned():
    """Two steps of every victim are not observed; their features become NaN."""
    weights = []
    for value in (0.0, float("nan")):
        training, complete, missing = make_training()
        training.model.backbone.learn_gaps(["victim"])
        training.optimizers = make_optimizers(training.model, training.config)
        torch.manual_seed(0)
        training.epoch([with_gaps(batch, value) for batch in complete], missing)
        weights.append(snapshot(training.model))
    assert all(map(torch.equal, *weights))
    assert training.model.backbone.encoder("victim").gap.abs().max() > 0


def with_gaps(batch: Streams, value: float) -> Streams:
    features = batch.features["victim"].clone()
    observed = is_valid(batch.lengths["victim"], features.shape[1])
    features[:, 1:3], observed[:, 1:3] = value, False
    return replace(
        batch,
        features={**batch.features, "victim": features},
        observed={"victim": observed},
    )
