"""Methods: what each one sees, and that all of them train."""

import numpy as np
import pytest
import torch

from mmalign.model.backbone import count_parameters
from mmalign.training.config import Config
from mmalign.training.methods import (
    METHODS,
    build_model,
    configure,
    find_method,
    seen_by,
    settings_of,
)
from tests.training.small import (
    PAIR,
    poisoned,
    small_config,
    small_dataset,
    small_protocol,
    train_both_settings,
)


def seen(method: str, **changes):
    dataset = small_dataset()
    return seen_by(find_method(method), dataset, small_protocol(**changes).masks(dataset)), dataset


def test_the_lower_bound_never_sees_the_victim():
    data, original = seen("lb")
    for name in data.splits:
        for clip in data[name]:
            assert clip.sequences["victim"] is clip.sequences["visible"]
    assert len(data["train"]) == len(original["train"])
    assert len(seen("lb-complete")[0]["train"]) == 24


def test_the_upper_bound_sees_everything():
    data, original = seen("ub")
    for name in data.splits:
        assert data[name].is_present("victim").all()
        assert data[name].ids == original[name].ids


def test_the_rest_sees_what_the_masks_left():
    data, _ = seen("mmalign")
    assert data["train"].is_present("victim").sum() == 24
    assert not data["test"].is_present("victim").any()


def test_encoders_fusion_and_head_have_the_same_size_whatever_the_method():
    """But for the bounds that read the visible modality twice: theirs is its encoder twice."""
    sizes = {}
    for name in METHODS:
        twice = name in ("lb", "lb-complete")
        model = build_model(
            Config(method=name),
            small_dataset().task,
            {"visible": 6, "victim": 6 if twice else 40},
            [("visible", "victim")],
        )
        parts = dict(model.backbone.named_children())
        encoders = parts.pop("encoders")
        assert parts.keys() == {"fuse", "head"}
        parts |= dict(zip(("encode_visible", "encode_victim"), encoders, strict=True))
        size = {part: count_parameters(module) for part, module in parts.items()}
        if twice:
            assert size["encode_victim"] == size["encode_visible"]
            size["encode_victim"] = sizes["zero-fill"]["encode_victim"]
        sizes[name] = size
    assert all(size == sizes["zero-fill"] for size in sizes.values())


@pytest.mark.parametrize("name", METHODS)
def test_every_method_trains_and_nothing_sees_the_victim_of_a_missing_clip(name):
    """Victim features of missing clips become NaN: not a bit of weights and scores changes."""
    torch.set_num_threads(1)
    config = small_config(**(dict(METHODS[name].defaults) | {"method": name, "epochs": 1}))
    dataset = unseen = small_dataset()
    if METHODS[name].is_masked:
        missing = small_protocol(setting="B", seed=config.seed).masks(dataset).missing
        for split, ids in missing.items():
            unseen = poisoned(unseen, split, set(ids), "victim", float("nan"))
    first, second = (
        train_both_settings(data, config, **PAIR, survival=0.5) for data in (dataset, unseen)
    )
    for setting in first.settings:
        assert np.isfinite(first.test(setting)["loss"])
        assert first.test(setting) == second.test(setting)
    states = (done.predictor.model.state_dict().values() for done in (first, second))
    assert all(map(torch.equal, *states))


def test_defaults_of_a_method_give_way_to_the_user():
    assert configure({"method": "dynamic-window"}).both_passes
    assert not configure({"method": "dynamic-window", "both_passes": False}).both_passes
    assert configure({}) == Config()


@pytest.mark.parametrize("method", METHODS)
def test_settings_make_the_config_they_were_taken_from(method):
    for changes in ({}, {"window": 3, "gate": False, "both_passes": False}):
        config = configure({"method": method, **changes})
        assert configure(settings_of(config)) == config
    assert settings_of(configure({"method": method})) == {"method": method}
