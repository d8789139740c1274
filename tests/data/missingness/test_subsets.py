"""Whole modalities taken away: counts, nestedness, blindness to order, at least one stays."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.data import (
    Dataset,
    Masks,
    PatternProtocol,
    RandomMissing,
    Regression,
    Split,
    SubsetProtocol,
)
from mmalign.errors import ConfigError, DataError

NAMES = ("text", "visual", "acoustic")
RATES = st.integers(0, 20).map(lambda n: n / 20)
SEEDS = st.integers(0, 99)
ONE_STEP = np.ones((1, 1), np.float32)


def make_dataset(count=24, lacking=frozenset(), names=NAMES) -> Dataset:
    """One split; `lacking` holds pairs of modality and row."""
    split = Split(
        ids=tuple(f"c{n}" for n in range(count)),
        labels=None,
        sequences={
            name: [None if (name, n) in lacking else ONE_STEP for n in range(count)]
            for name in names
        },
    )
    return Dataset(Regression(), dict.fromkeys(names, 1), {"train": split})


LACKING = st.sets(st.tuples(st.sampled_from(NAMES[1:]), st.integers(0, 23)), max_size=20)
SURVIVALS = st.dictionaries(st.sampled_from(NAMES), RATES, min_size=1).filter(
    lambda rates: len(rates) < 3 or any(rates.values())
)
SHARES = st.dictionaries(
    st.sampled_from(["text", "visual", "visual+text", "text+visual+acoustic", "acoustic"]),
    st.integers(0, 4).map(lambda n: n / 20),
    min_size=1,
)
PROTOCOLS = st.one_of(
    st.builds(SubsetProtocol, survival=SURVIVALS, seed=SEEDS),
    st.builds(PatternProtocol, patterns=SHARES, seed=SEEDS),
    st.builds(RandomMissing, rate=RATES.filter(lambda rate: rate < 1), seed=SEEDS),
)


def missing(protocol, dataset) -> dict[str, set[str]]:
    return {name: set(ids) for name, ids in protocol.masks(dataset).missing["train"].items()}


def contains(more, fewer) -> bool:
    return all(fewer[name] <= more[name] for name in fewer)


@settings(max_examples=60)
@given(PROTOCOLS, LACKING)
def test_every_clip_keeps_something_and_what_is_named_is_gone(protocol, lacking):
    dataset = make_dataset(lacking=lacking)
    named = missing(protocol, dataset)
    applied = protocol.apply(dataset)["train"]
    for name in NAMES:
        assert {clip.id for clip in applied if clip.is_missing(name)} == named[name]
    assert not set.intersection(*named.values())
    assert contains(named, missing(SubsetProtocol(survival={"text": 1}), dataset))


@settings(max_examples=30)
@given(PROTOCOLS, LACKING, st.permutations(range(24)), st.permutations(NAMES))
def test_the_order_of_clips_and_modalities_does_not_matter(protocol, lacking, rows, names):
    dataset = make_dataset(lacking=lacking)
    turned = dataset.only(names)
    turned = replace(turned, splits={"train": turned["train"].select(rows)})
    assert missing(protocol, dataset) == missing(protocol, turned)


@settings(max_examples=30)
@given(PROTOCOLS, LACKING)
def test_masks_survive_a_file(tmp_path_factory, protocol, lacking):
    dataset = make_dataset(lacking=lacking)
    masks = protocol.masks(dataset)
    file = tmp_path_factory.mktemp("masks") / "masks.json"
    masks.save(file)
    back = Masks.load(file)
    assert back == masks
    first, second = masks.apply(dataset)["train"], back.apply(dataset)["train"]
    assert all((first.is_present(m) == second.is_present(m)).all() for m in NAMES)


@given(st.integers(1, 40), RATES, RATES, SEEDS)
def test_survivors_are_counted_exactly_where_another_modality_always_stays(n, one, other, seed):
    named = missing(
        SubsetProtocol(survival={"visual": one, "acoustic": other}, seed=seed), make_dataset(n)
    )
    for name, rate in (("text", 1), ("visual", one), ("acoustic", other)):
        assert n - len(named[name]) == math.floor(Fraction(str(rate)) * n)


@given(st.integers(1, 40), st.lists(st.integers(8, 20), min_size=3, max_size=3), SEEDS)
def test_survivors_are_counted_exactly_at_rates_that_leave_room(n, twentieths, seed):
    survival = dict(zip(NAMES, (value / 20 for value in twentieths), strict=True))
    named = missing(SubsetProtocol(survival=survival, seed=seed), make_dataset(n))
    wanted = {name: math.floor(Fraction(str(rate)) * n) for name, rate in survival.items()}
    # Greedy taking may get stuck on the very last clips only if nearly all have one left.
    if sum(wanted.values()) >= 1.2 * n:
        assert {name: n - len(ids) for name, ids in named.items()} == wanted


@settings(max_examples=60)
@given(SURVIVALS, st.integers(1, 10), st.integers(1, 10), LACKING, SEEDS)
def test_rates_that_fall_together_only_take_more(survival, first, second, lacking, seed):
    dataset = make_dataset(lacking=lacking)
    low, high = (
        missing(
            SubsetProtocol(survival={m: _scaled(r, k) for m, r in survival.items()}, seed=seed),
            dataset,
        )
        for k in sorted((first, second))
    )
    assert contains(low, high)


@settings(max_examples=40)
@given(SHARES, st.integers(1, 10), st.integers(1, 10), LACKING, SEEDS)
def test_shares_that_grow_together_only_take_more(shares, first, second, lacking, seed):
    dataset = make_dataset(lacking=lacking)
    low, high = (
        missing(
            PatternProtocol(patterns={p: _scaled(s, k) for p, s in shares.items()}, seed=seed),
            dataset,
        )
        for k in sorted((first, second))
    )
    assert contains(high, low)


def _scaled(rate: float, tenths: int) -> float:
    return round(rate * tenths / 10, 6)


@given(st.integers(1, 30), SHARES, SEEDS)
def test_patterns_have_their_exact_shares(n, shares, seed):
    named = missing(PatternProtocol(patterns=shares, seed=seed), make_dataset(n))
    kept = [frozenset(m for m in NAMES if f"c{row}" not in named[m]) for row in range(n)]
    for pattern, share in shares.items():
        chosen = frozenset(pattern.split("+"))
        if chosen != frozenset(NAMES):
            assert kept.count(chosen) == math.floor(Fraction(str(share)) * n)


@settings(max_examples=60)
@given(st.integers(1, 30), st.integers(0, 19), st.integers(0, 19), LACKING, SEEDS)
def test_random_missing_is_exact_and_nested(n, first, second, lacking, seed):
    dataset = make_dataset(n, {(name, row) for name, row in lacking if row < n})
    already = len([row for _, row in lacking if row < n])
    low, high = (
        missing(RandomMissing(rate=rate / 20, seed=seed), dataset)
        for rate in sorted((first, second))
    )
    assert contains(high, low)
    count = math.floor(Fraction(max(first, second), 20) * n * 3)
    assert sum(map(len, high.values())) == max(already, min(count, 2 * n))


def test_seeds_and_modalities_draw_on_their_own():
    dataset = make_dataset(200)
    halves = dict.fromkeys(("visual", "acoustic"), 0.5)
    first, second = (missing(SubsetProtocol(survival=halves, seed=s), dataset) for s in (0, 1))
    assert first["visual"] != second["visual"]
    both = len(first["visual"] & first["acoustic"])
    assert 30 < both < 70  # 50 of 200 on average


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SubsetProtocol(survival={"text": 1.2}), r"survival of text must be in \[0, 1\]"),
        (lambda: SubsetProtocol(survival={"text": float("nan")}), "must be in"),
        (lambda: SubsetProtocol(survival={}), "names no modality"),
        (lambda: RandomMissing(rate=1.0), r"rate must be in \[0, 1\)"),
        (lambda: RandomMissing(rate=-0.1), "rate must be in"),
        (lambda: PatternProtocol(patterns={}), "there is no pattern"),
        (lambda: PatternProtocol(patterns={"text": -1}), "share of text"),
        (lambda: PatternProtocol(patterns={"text": 1.5}), r"share of text must be in \[0, 1\]"),
        (lambda: PatternProtocol(patterns={"text": 0.7, "visual": 0.4}), "add up to more than 1"),
    ],
)
def test_nonsense_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


@pytest.mark.parametrize(
    "protocol",
    [SubsetProtocol(survival={"smell": 0.5}), PatternProtocol(patterns={"text+smell": 0.5})],
)
def test_an_unknown_modality_is_refused(protocol):
    with pytest.raises(DataError, match=r"no modality 'smell'\. This dataset has text, visual"):
        protocol.masks(make_dataset())


def test_a_protocol_that_leaves_nothing_is_refused():
    with pytest.raises(DataError, match="every clip would lose everything"):
        SubsetProtocol(survival=dict.fromkeys(NAMES, 0.0)).masks(make_dataset())


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (make_dataset(5), "names? a clip that is not in the data"),
        (make_dataset(names=NAMES[:2]), "a modality 'acoustic' that is not in the data"),
        (make_dataset(lacking={(m, n) for m in NAMES[:2] for n in range(24)}), "every modality is"),
    ],
)
def test_masks_of_another_dataset_are_refused(other, message):
    masks = RandomMissing(rate=0.5).masks(make_dataset())
    with pytest.raises(DataError, match=f"split train.*{message}"):
        masks.apply(other)


def test_the_ends_of_the_ranges_are_taken_and_no_seed_is_zero():
    all_survive = SubsetProtocol(survival=dict.fromkeys(NAMES, 1))
    one_pattern = PatternProtocol(patterns={"text": 1})
    tenths = PatternProtocol(patterns={"text": 0.1, "visual": 0.2, "acoustic": 0.7})
    nothing = RandomMissing(rate=0)
    assert [p.seed for p in (all_survive, one_pattern, tenths, nothing)] == [0] * 4
    lost = [missing(p, make_dataset(10)) for p in (all_survive, one_pattern, tenths, nothing)]
    counts = [[len(named[name]) for name in NAMES] for named in lost]
    assert counts == [[0, 0, 0], [0, 10, 10], [9, 8, 3], [0, 0, 0]]
