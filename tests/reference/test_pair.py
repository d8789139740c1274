"""Two modalities and one direction are the frozen pair, to the bit, on any machine."""

import numpy as np
import pytest
import torch

from mmalign.data.batching import Batches
from mmalign.model.streams import Streams, to_streams
from mmalign.runs.network import network_from, network_settings, network_weights
from mmalign.training.denoise import DenoisingTraining, Optimizers, make_optimizers
from mmalign.training.methods import METHODS, build_model, find_method
from tests.reference import pair as frozen
from tests.training.small import small_config, small_dataset, small_protocol

TWO = ("visible", "victim")
DIMS = (6, 6)


def batches() -> list[Streams]:
    """Complete, missing and mixed clips."""
    masked = small_protocol().apply(small_dataset())
    train, is_there = masked["train"], masked["train"].is_present("victim")
    chosen = [is_there, ~is_there, np.ones_like(is_there)]
    parts = (Batches(train.select(np.flatnonzero(c)), masked.dims, batch_size=12) for c in chosen)
    return [to_streams(next(part.in_order()), TWO) for part in parts]


def as_pair(streams: Streams) -> frozen.Pair:
    parts = [part for name in TWO for part in (streams.features[name], streams.lengths[name])]
    return frozen.Pair(*parts, streams.labels)


def both_models(name: str):
    config = small_config(method=name, both_passes=True, step_contrast_weight=0.5)
    torch.manual_seed(3)
    ours = build_model(config, small_dataset().task, dict(zip(TWO, DIMS, strict=True)), [TWO])
    torch.manual_seed(3)
    backbone = frozen.Backbone(config, DIMS, small_dataset().task.outputs)
    return ours, frozen.Model(backbone, find_method(name).make_imputer(config), DIMS), config


class Recorder(torch.optim.SGD):
    """Changes nothing, and keeps the gradients of every step."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        super().__init__(optimizer.param_groups[0]["params"])
        self.gradients: list = []

    def step(self) -> None:
        self.gradients.append([p.grad for p in self.param_groups[0]["params"]])


def gradients(loss: torch.Tensor, parameters: list) -> list:
    """Clipped as in training."""
    for parameter in parameters:
        parameter.grad = None
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    return [parameter.grad for parameter in parameters]


def are_equal(first: list, second: list) -> bool:
    """Lists of tensors, of None, or of such lists."""
    if isinstance(first, list):
        return len(first) == len(second) and all(map(are_equal, first, second))
    return first is second if first is None or second is None else torch.equal(first, second)


@pytest.mark.parametrize("name", METHODS)
def test_weights_gradients_and_answers_are_those_of_the_frozen_pair(name):
    ours, theirs, config = both_models(name)
    complete, missing, mixed = batches()
    filed = network_weights(ours)
    assert filed.keys() == theirs.state_dict().keys()
    assert are_equal(list(ours.parameters()), list(theirs.parameters()))

    made = make_optimizers(ours, config)
    main, fit = Recorder(made.main), None if made.fit is None else Recorder(made.fit)
    loss = find_method(name).missing_loss
    training = DenoisingTraining(ours, Optimizers(main, fit), config, missing_loss=loss)
    torch.manual_seed(4)
    training.epoch([complete], [missing])

    task = [*theirs.backbone.parameters(), *theirs.imputer.task_parameters()]
    torch.manual_seed(4)
    fit_loss, complete_loss = frozen.complete_losses(
        theirs, as_pair(complete), window=config.window
    )
    step = frozen.meta_loss if name == "smil" else frozen.missing_loss
    missing_loss = step(theirs, as_pair(missing), as_pair(complete))
    if fit is not None:
        expected = gradients(fit_loss, list(theirs.imputer.parameters()))
        assert are_equal(fit.gradients, [expected])
    expected = [gradients(loss, task) for loss in (complete_loss, missing_loss)]
    assert are_equal(main.gradients, expected)

    theirs.load_state_dict(filed)
    task, found = small_dataset().task, theirs.state_dict()
    ours = network_from(network_settings(ours), config, task, found)
    for model in (ours, theirs.eval()):
        model.gate.fill_(0.75)
    with torch.no_grad():
        for streams in (complete, missing, mixed):
            assert torch.equal(ours(streams), theirs(as_pair(streams)))
