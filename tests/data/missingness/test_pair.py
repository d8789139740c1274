"""Masks: exact, nested, blind to order, process and hash seed; applying them drops arrays."""

import json
import math
import os
import random
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data import (
    Clip,
    Dataset,
    Masks,
    Protocol,
    Regression,
    Split,
    load_dataset,
    write_native,
)
from mmalign.data.columns import StoredColumn
from mmalign.errors import ConfigError, DataError

RATES = st.integers(1, 100).map(lambda percent: percent / 100)


def make_dataset(counts=(50, 20, 30), lacking=()) -> Dataset:
    splits = {}
    for name, count in zip(("train", "valid", "test"), counts, strict=True):
        clips = [
            Clip(
                f"{name}{n}",
                0.0,
                {
                    "text": np.ones((2, 1), np.float32),
                    "audio": None if f"{name}{n}" in lacking else np.ones((2, 1), np.float32),
                    "face": np.ones((2, 1), np.float32),
                },
            )
            for n in range(count)
        ]
        splits[name] = Split.from_clips(clips, ["text", "audio", "face"], Regression())
    return Dataset(Regression(), {"text": 1, "audio": 1, "face": 1}, splits)


def protocol(**changes) -> Protocol:
    return Protocol(**({"visible": "text", "victim": "audio", "survival": 0.1} | changes))


@given(st.integers(1, 60), RATES, st.integers(0, 99), st.sampled_from("AB"))
def test_counts_are_exact(n, rate, seed, setting):
    dataset = make_dataset((n, n, n))
    masks = protocol(survival=rate, setting=setting, seed=seed).masks(dataset)
    survivors = math.floor(Fraction(str(rate)) * n)
    assert len(masks.missing["train"]) == n - survivors
    expected = n if setting == "A" else n - survivors
    assert len(masks.missing["valid"]) == len(masks.missing["test"]) == expected


@given(RATES, RATES, st.integers(0, 99))
def test_a_higher_rate_keeps_what_a_lower_one_kept(first, second, seed):
    low, high = sorted((first, second))
    dataset = make_dataset()
    fewer = protocol(survival=high, setting="B", seed=seed).masks(dataset).missing
    more = protocol(survival=low, setting="B", seed=seed).masks(dataset).missing
    assert all(set(fewer[name]) <= set(more[name]) for name in dataset.splits)


@given(st.randoms(use_true_random=False), RATES)
def test_order_does_not_matter(shuffler: random.Random, rate):
    dataset = make_dataset()
    rows = list(range(50))
    shuffler.shuffle(rows)
    turned = replace(dataset, splits={**dataset.splits, "train": dataset["train"].select(rows)})
    first = protocol(survival=rate).masks(dataset).missing["train"]
    assert set(first) == set(protocol(survival=rate).masks(turned).missing["train"])


def test_processes_and_hash_seeds_do_not_matter():
    code = (
        "from mmalign.data.missingness import surviving_ids\n"
        "print(sorted(surviving_ids([f'c{n}' for n in range(99)], count=30, seed=7)))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


def test_seeds_differ():
    first, second = (protocol(seed=s).masks(make_dataset()).missing["train"] for s in (0, 1))
    assert set(first) != set(second)


def test_applying_drops_the_victim_and_other_modalities():
    dataset = make_dataset()
    applied = protocol(survival=0.5, setting="B").apply(dataset)
    masks = protocol(survival=0.5, setting="B").masks(dataset)
    assert applied.modalities == ("text", "audio")
    for name, split in applied.splits.items():
        gone = {clip.id for clip in split if clip.is_missing("audio")}
        assert gone == set(masks.missing[name])
        assert not any(clip.is_missing("text") for clip in split)


def test_clips_that_lack_the_victim_anyway_do_not_count_as_survivors():
    lacking = {f"train{n}" for n in range(45)}
    masks = protocol(survival=0.5).masks(make_dataset(lacking=lacking))
    assert len(masks.missing["train"]) == 45


def test_the_last_modality_is_never_taken():
    dataset = make_dataset(lacking={"train3"})
    with pytest.raises(DataError, match="clip train3, modality audio: the visible modality"):
        protocol(visible="audio", victim="text").apply(dataset)


def test_masks_survive_a_file(tmp_path):
    dataset = make_dataset()
    masks = protocol(survival=0.3, setting="B", seed=5).masks(dataset)
    masks.save(tmp_path / "masks.json")
    back = Masks.load(tmp_path / "masks.json")
    assert back.protocol == masks.protocol
    assert {k: tuple(v) for k, v in back.missing.items()} == dict(masks.missing)
    assert json.loads((tmp_path / "masks.json").read_text())["protocol"]["victim"] == "audio"


def test_masks_of_another_dataset_are_refused():
    masks = protocol().masks(make_dataset((60, 20, 30)))
    with pytest.raises(DataError, match="made for another dataset"):
        masks.apply(make_dataset((5, 20, 30)))


@pytest.mark.parametrize(
    "content", ["", "{}", '{"protocol": {}, "missing": []}', "[1]", "nonsense"]
)
def test_a_damaged_masks_file_is_refused(tmp_path, content):
    file = tmp_path / "masks.json"
    file.write_text(content)
    with pytest.raises((DataError, ConfigError)):
        Masks.load(file)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"victim": "text"}, "both 'text'"),
        ({"survival": 0.0}, "survival must be in"),
        ({"survival": 1.5}, "survival must be in"),
        ({"survival": float("nan")}, "survival must be in"),
        ({"setting": "C"}, "setting must be A or B"),
    ],
)
def test_nonsense_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        protocol(**changes)


def test_an_unknown_modality_is_refused():
    with pytest.raises(
        DataError, match=r"no modality 'smell'\. This dataset has text, audio, face"
    ):
        protocol(victim="smell").masks(make_dataset())


def test_applying_masks_builds_no_clip_and_no_sequence(tmp_path, monkeypatch):
    write_native(make_dataset(), tmp_path / "native")
    stored = load_dataset(tmp_path / "native")

    def refuse(*_):
        raise AssertionError("a clip or a sequence was built")

    monkeypatch.setattr(StoredColumn, "_steps_of", refuse)
    monkeypatch.setattr(Split, "__getitem__", refuse)
    for dataset in (stored, make_dataset()):
        masked = Protocol(visible="text", victim="audio", survival=0.1).apply(dataset)
        assert masked.splits["train"].is_present("audio").sum() == 5


def test_all_may_survive():
    masks = protocol(survival=1, setting="B").masks(make_dataset())
    assert not any(masks.missing.values())
