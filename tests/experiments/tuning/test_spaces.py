"""Spaces: the paper's table, sizes that fit, and settings that are worth searching."""

from dataclasses import fields

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mmalign.errors import ConfigError
from mmalign.experiments.tuning.relevance import useless_settings
from mmalign.experiments.tuning.spaces import Choice, Range, Space
from mmalign.experiments.tuning.spaces_file import SPACES
from mmalign.training.config import Config
from mmalign.training.loop import Training
from mmalign.training.methods import METHODS, configure, seen_by
from tests.training.small import IN_PAIR, small_config, small_dataset, small_protocol

# The paper's table multiplied out: 2*3*2*2*1*2*1*2*5 for MOSI, and so on.
SIZES = {"paper-mosi": 480, "paper-mosei": 160, "paper-meld": 128}


MANY = Choice(tuple(range(1, 401)))


@pytest.mark.parametrize("name", SIZES)
def test_the_papers_grids_have_the_papers_size_and_sensible_points(name):
    points = SPACES[name].points({})
    assert len(points) == SIZES[name]
    assert len({tuple(point.items()) for point in points}) == len(points)
    assert all(configure(point).dim % configure(point).heads == 0 for point in points)


@pytest.mark.parametrize("name", SPACES)
def test_spaces_of_ours_are_sound(name):
    SPACES[name].check({})
    assert SPACES[name].is_grid == (name != "ranges")
    assert set(SPACES[name].dimensions) <= {field.name for field in fields(Config)}


def test_points_whose_heads_do_not_divide_their_dim_are_no_points():
    space = Space("mine", {"dim": Choice((32, 40)), "heads": Choice((4, 5))})
    space.check({})
    pairs = [(point["dim"], point["heads"]) for point in space.points({})]
    assert pairs == [(32, 4), (40, 4), (40, 5)]
    assert Space("mine", {"heads": Choice((3, 5))}).points({"dim": 30}) == [
        {"heads": 3},
        {"heads": 5},
    ]


@pytest.mark.parametrize(
    ("dimensions", "fixed", "message"),
    [
        ({"dim": Range(16, 64), "heads": Choice((4, 8))}, {}, r"must divide dim \(17\)"),
        ({"heads": Choice((3, 5))}, {"dim": 32}, r"heads \(3\) must divide dim \(32\)"),
        ({"dim": Choice((30, 34))}, {"heads": 4}, r"heads \(4\) must divide dim \(30\)"),
        ({"dropout": Range(0.1, 1.5)}, {}, r"dropout must be in \[0, 1\), got 1.5"),
        ({"windw": Choice((1, 2))}, {}, "did you mean 'window'"),
        ({"seed": Choice((1, 2))}, {}, "a seed is not a setting"),
        ({}, {}, "nothing to search"),
        ({"window": MANY, "warm_up": MANY}, {}, "160000"),
    ],
)  # fmt: skip
def test_spaces_that_make_no_sense_are_refused(dimensions, fixed, message):
    with pytest.raises(ConfigError, match=message):
        Space("mine", dimensions).check(fixed)


@given(
    low=st.integers(-20, 20),
    steps=st.integers(1, 9),
    step=st.integers(1, 7),
    value=st.floats(-300, 300),
)
def test_the_nearest_whole_number_is_one_of_the_range(low, steps, step, value):
    whole = range(low, low + steps * step + 1, step)
    nearest = Range(low, low + steps * step, step=step).nearest(value)
    assert nearest in whole
    assert abs(nearest - value) <= min(abs(other - value) for other in whole) + 1e-9


def test_the_nearest_point_is_the_defaults_where_they_are_inside():
    assert SPACES["ranges"].nearest(vars(Config()))["learning_rate"] == Config.learning_rate
    assert Choice((2, 8)).nearest(4) == 2
    assert Range(0.5, 1.0).nearest(0.1) == 0.5


def trained(**changes) -> dict[str, torch.Tensor]:
    """The weights after two epochs."""
    config = small_config(epochs=1, **changes)
    method = METHODS[config.method]
    seen = seen_by(method, small_dataset(), small_protocol().masks(small_dataset()))
    training = Training(seen, config, validations={"A": seen["valid"]}, **IN_PAIR)
    training.run()
    return training.state.model.state_dict()


OTHERS = {"window": 3, "epsilon": 1.0, "fit_learning_rate": 0.05}


@pytest.mark.parametrize("method", ["mmalign", "mean-fill", "uniform-window"])
def test_a_useless_setting_changes_nothing_and_a_useful_one_does(method):
    useless = useless_settings(Config(method=method), OTHERS)
    before = trained(method=method)
    for name, value in OTHERS.items():
        after = trained(method=method, **{name: value})
        is_same = all(torch.equal(before[key], after[key]) for key in before)
        assert is_same == (name in useless), name


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_something_to_search(method):
    useless = useless_settings(Config(method=method), SPACES["ranges"].dimensions)
    assert "learning_rate" not in useless
    assert set(useless) <= {"window", "epsilon", "fit_learning_rate", "step_contrast_weight"}


def test_what_the_user_asks_for_makes_settings_useful():
    assert "window" in useless_settings(Config(method="copy"), ["window"])
    asked = Config(method="copy", step_contrast_weight=1.0)
    assert "window" not in useless_settings(asked, ["window"])
    assert "fit_learning_rate" in useless_settings(Config(fit=False), ["fit_learning_rate"])
    assert not useless_settings(Config(fit=False), ["fit_learning_rate", "fit"])
