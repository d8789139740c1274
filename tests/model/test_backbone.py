"""The backbone: weights that differ, and how many there are."""

import itertools

import torch

from mmalign.model.backbone import Backbone, count_parameters
from mmalign.model.config import BackboneConfig


def test_no_two_siblings_start_alike():
    torch.manual_seed(0)
    backbone = Backbone(
        BackboneConfig(encoder_layers=2, fusion_layers=2),
        {"visible": 4, "victim": 4},
        outputs=3,
    )
    weights = [p for p in backbone.parameters() if p.ndim > 1]
    for first, second in itertools.combinations(weights, 2):
        assert first.shape != second.shape or not torch.equal(first, second)


def test_parameters_are_counted():
    assert count_parameters(torch.nn.Linear(3, 2)) == 8
