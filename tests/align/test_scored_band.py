"""A batch of bands against dense matrices, clip by clip."""

import numpy as np
import pytest
import torch
from align_oracle import dense_cost, draw_problems
from scipy.special import logsumexp

from mmalign.align import to_dense
from mmalign.align.cost import windowed_cosine_cost
from mmalign.align.scored_band import ScoredBand


@pytest.fixture(scope="module")
def problems():
    return draw_problems(3, batch=12)


@pytest.fixture(scope="module")
def band(problems):
    lengths = problems.source_lengths, problems.target_lengths
    sides = {"source_lengths": lengths[0], "target_lengths": lengths[1]}
    cost = windowed_cosine_cost(problems.source, problems.target, window=problems.window, **sides)
    return ScoredBand.build(cost, *lengths, epsilon=problems.epsilon)


def dense_scores(problems):
    """-cost / epsilon of every clip without padding, -inf outside the band."""
    for source, target in problems.clips():
        yield -dense_cost(source, target, problems.window) / problems.epsilon


def test_there_is_a_place_for_each_step_and_no_other(band, problems):
    assert band.is_row.sum(1).tolist() == problems.source_lengths.tolist()
    assert band.is_column.sum(1).tolist() == problems.target_lengths.tolist()
    assert band.is_column.shape[1] == problems.target_lengths.max()


def test_potentials_make_the_sums_of_their_side_exact(band, problems):
    columns = torch.randn(band.is_column.shape, dtype=torch.float64)
    rows = band.row_potentials(columns)
    columns_after = band.column_potentials(rows)
    for clip, scores in enumerate(dense_scores(problems)):
        n, m = scores.shape
        expected = -logsumexp(scores + columns[clip, :m].numpy(), axis=1)
        assert np.allclose(rows[clip, :n].numpy(), expected, rtol=1e-12)
        expected = np.log(n / m) - logsumexp(scores + expected[:, None], axis=0)
        assert np.allclose(columns_after[clip, :m].numpy(), expected, rtol=1e-11)


def test_padding_has_neither_sums_nor_error(band, problems):
    rows = band.row_potentials(torch.zeros(band.is_column.shape, dtype=torch.float64))
    plan = (band.scores + rows[..., None]).exp()
    sums = band.column_sums(plan)
    assert (plan[~band.is_row] == 0).all()
    assert (sums[~band.is_column] == 0).all()
    n, m = problems.source_lengths, problems.target_lengths
    dense = to_dense(plan, source_lengths=n, target_lengths=m)
    assert torch.allclose(dense.sum(1), sums, rtol=1e-13)
    for clip, (rows, columns) in enumerate(zip(n.tolist(), m.tolist(), strict=True)):
        gap = (dense[clip].sum(0)[:columns] * columns / rows - 1).abs().max()
        assert torch.isclose(band.marginal_error(plan)[clip], gap)
