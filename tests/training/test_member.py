"""Members train as single networks would, and answer as their mean."""

import pytest
import torch

from mmalign.errors import ConfigError
from mmalign.training.config import Config
from mmalign.training.loop import Training
from mmalign.training.member import STRIDE, member_configs
from mmalign.training.methods import METHODS, configure
from tests.training.small import IN_PAIR, small_config, small_dataset, small_protocol

DATA = small_protocol().apply(small_dataset())
SMALL = {"dim": 8, "heads": 2, "window": 2, "batch_size": 16, "epochs": 1, "keep": "last"}


def trained(config: Config) -> Training:
    training = Training(DATA, config, **IN_PAIR, validations={"A": DATA["valid"]})
    training.run()
    return training


@pytest.mark.parametrize("method", METHODS)
def test_answers_are_the_mean_of_networks_that_are_trained_alone(method):
    settings = {"method": method, **SMALL}
    both = trained(configure({**settings, "members": 2})).select("A")
    alone = [trained(configure({**settings, "seed": s})).select("A") for s in (0, STRIDE)]
    for member, single in zip(both.members, alone, strict=True):
        weights = single.model.state_dict()
        assert all(torch.equal(t, weights[name]) for name, t in member.state_dict().items())
    outputs = [single.outputs(DATA["test"]).softmax(dim=-1) for single in alone]
    assert not torch.equal(*outputs)
    mean = torch.stack(outputs).mean(dim=0)
    torch.testing.assert_close(both.outputs(DATA["test"]).softmax(dim=-1), mean)


def test_the_mean_is_what_validates_and_losses_are_means():
    training = trained(small_config(members=2, epochs=2))
    best = training.state.selections["A"]
    record = training.state.history[best.best_epoch - 1]
    assert record["valid"]["A"] == training.select("A").evaluate(DATA["valid"])
    first = trained(small_config(epochs=2)).state.history[0]["losses"]
    second = trained(small_config(epochs=2, seed=STRIDE)).state.history[0]["losses"]
    found = training.state.history[0]["losses"]
    assert found == pytest.approx({n: (first[n] + second[n]) / 2 for n in first})


def test_the_gate_is_one_for_all_members():
    predictor = trained(configure({"method": "dynamic-window", **SMALL, "members": 2})).select("A")
    assert len({float(model.gate) for model in predictor.members}) == 1
    predictor.set_gate(0.25)
    assert [float(model.gate) for model in predictor.members] == [0.25, 0.25]


def test_seeds_that_people_count_up_share_no_member():
    seeds = [
        c.seed for seed in range(20) for c in member_configs(small_config(seed=seed, members=5))
    ]
    assert len(set(seeds)) == len(seeds)
    last = member_configs(small_config(seed=2**32 - 1, members=2))
    assert last[1].seed == STRIDE - 1


def test_less_than_one_member_is_refused():
    with pytest.raises(ConfigError, match="members must be >= 1, got 0"):
        small_config(members=0)
