"""Runs of steps taken out: share, lengths, nestedness, files, and gaps that were there before."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.data import Dataset, GapProtocol, Masks, Regression, Split
from mmalign.data.missingness.gaps import runs_of
from mmalign.data.non_finite import require_finite
from mmalign.errors import ConfigError, DataError

RATES = st.floats(0, 0.99)
MEANS = st.floats(1, 20)


def make_dataset(lengths=(1, 2, 7, 30), gaps=()) -> Dataset:
    """`gaps` names steps of the last clip's wrist that are missing already."""
    wrist = [np.arange(1, 2 * n + 1, dtype=np.float32).reshape(n, 2) for n in lengths]
    wrist[-1][list(gaps)] = np.nan
    split = Split(
        ids=tuple(f"c{n}" for n in range(len(lengths))),
        labels=None,
        sequences={"wrist": wrist, "pose": [None, *[np.ones((4, 1), np.float32)] * 3]},
        gapped=frozenset({"wrist"}),
    )
    return Dataset(Regression(), {"wrist": 2, "pose": 1}, {"train": split.checked_finite()})


def observed(dataset, modality="wrist"):
    return dataset["train"].observed(modality)


@settings(max_examples=40)
@given(RATES, MEANS, st.integers(0, 99), st.sets(st.integers(0, 29), max_size=20))
def test_a_share_of_every_sequence_is_gone_and_the_rest_untouched(rate, mean, seed, gaps):
    dataset = make_dataset(gaps=gaps)
    torn = GapProtocol(rate=rate, mean_length=mean, seed=seed).apply(dataset)
    require_finite(torn["train"])
    assert torn["train"].gapped == {"wrist", "pose"}
    assert torn["train"].is_finite
    for name in dataset.dims:
        before, after = dataset["train"].sequences[name], torn["train"].sequences[name]
        for row, (steps, left) in enumerate(zip(before, after, strict=True)):
            assert (steps is None) == (left is None)
            if steps is None:
                continue
            there, was = observed(torn, name)[row], observed(dataset, name)[row]
            assert np.array_equal(left[there], steps[there])
            assert np.isnan(left[~there]).all()
            assert not (there & ~was).any()
            assert there.any()
            lost, wanted = (~there).sum(), rate * len(steps)
            limit = max(len(steps) - was.sum(), min(wanted + 1, len(steps) - 1))
            assert min(wanted - 1, len(steps) - 1) <= lost <= limit


@settings(max_examples=40)
@given(RATES, RATES, MEANS, st.sets(st.integers(0, 29), max_size=20))
def test_a_higher_rate_takes_what_a_lower_one_took(first, second, mean, gaps):
    dataset = make_dataset(gaps=gaps)
    low, high = (
        observed(GapProtocol(rate=rate, mean_length=mean).apply(dataset))
        for rate in sorted((first, second))
    )
    assert all((after <= before).all() for before, after in zip(low, high, strict=True))


@given(st.permutations(range(4)))
@settings(max_examples=10)
def test_order_does_not_matter(rows):
    protocol = GapProtocol(rate=0.4, mean_length=3)
    dataset = make_dataset()
    turned = replace(dataset, splits={"train": dataset["train"].select(rows)})
    found = dict(zip(range(4), observed(protocol.apply(dataset)), strict=True))
    for row, there in zip(rows, observed(protocol.apply(turned)), strict=True):
        assert np.array_equal(found[row], there)


def test_masks_survive_a_file_and_tear_the_same_steps(tmp_path):
    dataset = make_dataset(gaps=[3])
    masks = GapProtocol(rate=0.5, mean_length=2, seed=3).masks(dataset)
    masks.save(tmp_path / "masks.json")
    back = Masks.load(tmp_path / "masks.json")
    assert back == masks
    first, second = (found.apply(dataset)["train"].sequences["wrist"] for found in (masks, back))
    assert [s.tobytes() for s in first] == [s.tobytes() for s in second]


def test_runs_are_as_long_as_asked_for_and_as_many():
    dataset = make_dataset(lengths=(40_000,) * 4)
    torn = GapProtocol(rate=0.05, mean_length=8).apply(dataset)
    there = observed(torn)[0]
    lengths = [length for _, length in runs_of(~there)]
    assert (~there).mean() == pytest.approx(0.05, abs=1e-4)
    assert np.mean(lengths) == pytest.approx(8, rel=0.2)  # a few of them meet
    assert np.std(lengths) == pytest.approx(8, rel=0.3)  # geometric


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rate": 1.0, "mean_length": 3}, r"rate must be in \[0, 1\)"),
        ({"rate": float("nan"), "mean_length": 3}, "rate must be in"),
        ({"rate": -0.1, "mean_length": 3}, "rate must be in"),
        ({"rate": 0.1, "mean_length": 0.5}, "mean_length must be >= 1"),
        ({"rate": 0.1, "mean_length": float("inf")}, "mean_length must be >= 1, got inf"),
    ],
)
def test_nonsense_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        GapProtocol(**settings)


def test_masks_of_another_dataset_are_refused():
    masks = GapProtocol(rate=0.5, mean_length=3).masks(make_dataset())
    with pytest.raises(DataError, match=r"clip c3, modality wrist: the masks name steps .* of 8"):
        masks.apply(make_dataset((1, 2, 7, 8)))
    with pytest.raises(DataError, match="no modality 'pose'"):
        masks.apply(make_dataset().only(["wrist"]))


def test_the_ends_of_the_ranges_are_taken():
    protocol = GapProtocol(rate=0, mean_length=1)
    assert protocol.seed == 0
    assert not any(protocol.masks(make_dataset()).missing["train"].values())


@pytest.mark.parametrize(("rate", "length", "mean"), [(0.3, 5, 1.5), (0.05, 4, 0.2)])
def test_a_share_that_is_no_whole_number_of_steps_is_kept_on_average(rate, length, mean):
    dataset = make_dataset(lengths=(length,) * 4)
    torn = [GapProtocol(rate=rate, mean_length=2, seed=n).apply(dataset) for n in range(150)]
    lost = [(~there).sum() for found in torn for there in observed(found)]
    assert set(lost) == {int(mean), int(mean) + 1}
    assert np.mean(lost) == pytest.approx(mean, abs=0.07)


@pytest.mark.parametrize(
    ("run", "told"),
    [((5, 4), "5 to 8"), ((-1, 2), "-1 to 0"), ((2, 0), "2 to 1"), ((8, 1), "8 to 8")],
)
def test_a_run_beyond_the_sequence_is_refused_by_its_steps(run, told):
    dataset = make_dataset((1, 2, 7, 8))
    protocol = GapProtocol(rate=0.5, mean_length=3)
    with pytest.raises(DataError, match=f"the masks name steps {told} of 8"):
        protocol.without(dataset, {"train": {"wrist": {"c3": (run,)}}})


def test_runs_at_both_ends_of_a_sequence_are_torn():
    dataset = make_dataset((1, 2, 7, 8))
    masks = {"train": {"wrist": {"c3": ((0, 2), (7, 1))}}}
    torn = GapProtocol(rate=0.5, mean_length=3).without(dataset, masks)
    assert runs_of(~observed(torn)[3]) == ((0, 2), (7, 1))
