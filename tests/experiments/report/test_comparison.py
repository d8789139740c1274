"""Means, paired differences and gaps, against scipy."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from mmalign.experiments.report.comparison import (
    best,
    difference,
    mean_interval,
    recovered_gap,
    summarise,
    verdict,
)
from mmalign.experiments.report.measures import CLASSIFICATION, REGRESSION

MAE, F1 = REGRESSION[0], CLASSIFICATION[0]
values = st.floats(0, 1, width=32)
seeds = st.dictionaries(st.integers(0, 9), values, min_size=2, max_size=8)


@given(seeds, seeds)
def test_differences_are_scipy_s_paired_test_over_the_shared_seeds(first, second):
    shared = sorted(set(first) & set(second))
    found = difference(first, second)
    if len(shared) < 2:
        assert found is None
        return
    a, b = np.array([first[s] for s in shared]), np.array([second[s] for s in shared])
    assume((a - b).std() > 1e-6)
    oracle = stats.ttest_rel(a, b)
    interval = oracle.confidence_interval(0.95)
    assert found.pairs == len(shared)
    assert found.p_value == pytest.approx(oracle.pvalue, rel=1e-9, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-9)
    assert found.mean == pytest.approx((a - b).mean(), abs=1e-12)


@given(seeds, seeds)
def test_the_verdict_is_significance_at_five_percent_with_the_metric_s_direction(first, second):
    found = difference(first, second)
    assume(found is not None and found.low != found.high)
    assume(abs(found.p_value - 0.05) > 1e-9)
    expected = int(np.sign(found.mean)) if found.p_value < 0.05 else 0
    assert verdict(found, F1) == expected
    assert verdict(found, MAE) == -expected


@given(seeds)
def test_summaries_and_intervals_are_scipy_s(scores):
    sample = np.array(list(scores.values()))
    found = summarise(scores)
    assert found.mean == pytest.approx(sample.mean())
    assume(sample.std() > 1e-6)
    assert found.sd == pytest.approx(stats.tstd(sample))
    expected = stats.t.interval(0.95, len(sample) - 1, sample.mean(), stats.sem(sample))
    assert mean_interval(scores) == pytest.approx(expected, abs=1e-9)


def test_one_seed_has_a_mean_but_no_spread_and_no_test():
    alone = summarise({3: 0.5})
    assert (alone.mean, alone.seeds) == (0.5, 1)
    assert math.isnan(alone.sd)
    assert all(map(math.isnan, mean_interval({3: 0.5})))
    assert difference({3: 0.5}, {3: 0.4}) is None
    assert verdict(None, F1) == 0
    assert math.isnan(summarise({}).mean)


@given(seeds, seeds, seeds)
def test_the_gap_is_the_ratio_of_means_over_the_seeds_of_all_three(method, lower, upper):
    shared = sorted(set(method) & set(lower) & set(upper))
    found = recovered_gap(method, lower, upper, F1)
    if not shared:
        assert math.isnan(found.share)
        return
    m, low, high = (np.mean([d[s] for s in shared]) for d in (method, lower, upper))
    assume(abs(high - low) > 1e-6)
    assert found.share == pytest.approx((m - low) / (high - low))


def test_a_gap_is_real_only_where_the_upper_bound_is_clearly_better():
    lower, upper = {0: 0.5, 1: 0.52, 2: 0.51}, {0: 0.7, 1: 0.73, 2: 0.71}
    assert recovered_gap(lower, lower, upper, F1).is_real
    assert not recovered_gap(lower, lower, upper, MAE).is_real  # larger errors are no gain
    assert not recovered_gap(lower, upper, lower, F1).is_real
    assert not recovered_gap({0: 0.6}, {0: 0.5}, {0: 0.7}, F1).is_real  # one seed tells nothing


def test_the_best_mean_depends_on_the_metric_and_ignores_what_is_missing():
    found = {"a": summarise({0: 0.4}), "b": summarise({0: 0.6}), "c": summarise({})}
    assert best(found, F1) == "b"
    assert best(found, MAE) == "a"
    assert best({"c": summarise({})}, F1) is None
