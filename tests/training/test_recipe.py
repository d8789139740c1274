"""Step sizes over time, averaged weights, and options that are off by default."""

import math

import pytest
import torch

from mmalign.errors import ConfigError
from mmalign.training.config import STRONG
from mmalign.training.loop import Training
from mmalign.training.recipe import add_to_average, rate_share, standing_in
from tests.training.small import IN_PAIR, small_config, small_dataset, small_protocol

DATA = small_protocol().apply(small_dataset())
BOTH = "visible,victim"
OPTIONS = {
    "centre": BOTH,
    "scale": "common",
    "differences": BOTH,
    "norm": "pre",
    "pool": "cls+mean+max",
    "schedule": "cosine",
    "average": 0.9,
}


def trained(**changes) -> Training:
    config = small_config(**({"epochs": 1} | changes))
    training = Training(DATA, config, **IN_PAIR, validations={"A": DATA["valid"]})
    training.run()
    return training


@pytest.fixture(scope="module")
def printed() -> torch.Tensor:
    return trained().select("A").outputs(DATA["test"])


@pytest.mark.parametrize("option", OPTIONS)
def test_each_option_changes_the_answers(printed, option):
    changed = trained(**{option: OPTIONS[option]}).select("A").outputs(DATA["test"])
    assert changed.shape == printed.shape
    assert not torch.equal(changed, printed)


def test_every_option_of_the_strong_rows_is_tried_here():
    assert set(STRONG) == {*OPTIONS, "keep"}


def test_step_sizes_rise_and_fall():
    main = trained().state.members[0].optimizers.main
    assert {group["lr"] for group in main.param_groups} == {1e-3}
    rates = []
    training = Training(
        DATA,
        small_config(schedule="cosine", fit_learning_rate=2e-3, epochs=4),
        **IN_PAIR,
        validations={"A": DATA["valid"]},
    )
    member = training.state.members[0]
    step = member.algorithm.after_step

    def watched() -> None:
        both = member.optimizers.main, member.optimizers.fit
        rates.append([optimizer.param_groups[0]["lr"] for optimizer in both])
        step()

    member.algorithm.after_step = watched
    training.run()
    main = [rate for rate, _ in rates]
    top = main.index(max(main))
    assert main == sorted(main[:top]) + sorted(main[top:], reverse=True)
    assert 0 < top < len(main) / 4
    assert main[-1] < 0.03e-3
    assert all(math.isclose(fit, 2 * rate) for rate, fit in rates)
    assert rate_share(1.0) == 0.0


def test_averaged_weights_are_the_weighted_mean_and_stand_in_for_a_while():
    torch.manual_seed(0)
    model, average, seen = torch.nn.Linear(2, 1), {}, []
    for _ in range(3):
        torch.nn.init.normal_(model.weight)
        seen.append(model.weight.detach().clone())
        add_to_average(average, model, decay=0.75)
    expected = 0.75 * (0.75 * seen[0] + 0.25 * seen[1]) + 0.25 * seen[2]
    torch.testing.assert_close(average["weight"], expected)
    with standing_in(model, average):
        assert torch.equal(model.weight, average["weight"])
    assert torch.equal(model.weight, seen[2])


def test_averaged_weights_validate_and_are_kept_while_others_are_trained():
    state = trained(average=0.9).state
    name, average = "backbone.head.0.weight", state.members[0].average
    assert not torch.equal(state.model.state_dict()[name], average[name])
    assert torch.equal(state.selections["A"].best_state[name], average[name])


def test_the_last_epoch_is_kept_whatever_it_scores():
    training = trained(keep="last", epochs=5, patience=1, learning_rate=0.3, clip_norm=100.0)
    assert len(training.state.history) == 5
    assert training.state.selections["A"].best_epoch == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": "each"}, "scale must be own or common or auto, got 'each'"),
        ({"schedule": "step"}, "schedule must be constant or cosine"),
        ({"keep": "first"}, "keep must be best or last"),
        ({"average": 1.0}, r"average must be in \[0, 1\), got 1.0; try 0.98"),
    ],
)
def test_nonsense_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        small_config(**changes)


def test_a_modality_that_is_not_read_cannot_be_centred():
    with pytest.raises(ConfigError, match="centre names 'wrist'"):
        trained(centre="wrist")
