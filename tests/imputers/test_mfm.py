"""MFM: factors rebuild the sequences, and latents come to look Gaussian."""

from functools import cache

import pytest
import torch

from mmalign.imputers.mfm import MFM, discrepancy
from mmalign.model.hidden import Hidden, step_error
from tests.imputers.test_mmalign import DIM, hidden


@pytest.fixture(params=[0, 1, 2])
def fitted(request):
    return fitted_once(request.param)


@cache
def fitted_once(seed: int):
    """Factors of two clips, fitted until they tell them apart."""
    torch.manual_seed(seed)
    imputer = MFM(DIM, discrepancy_weight=0.1).double()
    source, target = hidden([6, 4], seed=1), hidden([6, 4], seed=2)
    before = errors(imputer, source, target)
    optimizer = torch.optim.Adam(imputer.parameters(), lr=0.03)
    for _ in range(150):
        optimizer.zero_grad()
        imputer.fit_loss(source, target).backward()
        optimizer.step()
    return imputer, source, target, before


@torch.no_grad()
def errors(imputer: MFM, source: Hidden, target: Hidden) -> tuple[float, float]:
    """Of the source sequence from its factors, and of the target from its surrogates."""
    own = imputer.visible_latent(source), imputer.victim_latent(target)
    shared = imputer.shared_latent(torch.cat(own, dim=-1))
    rebuilt = imputer.rebuild_visible(own[0], shared, 6)
    imputed = imputer.impute(source, target.lengths)
    return step_error(rebuilt, source).item(), step_error(imputed, target).item()


def test_factors_rebuild_the_sequences(fitted):
    imputer, source, target, before = fitted
    after = errors(imputer, source, target)
    assert after[0] < 0.4 * before[0]
    assert after[1] < 0.4 * before[1]


@torch.no_grad()
def test_a_sequence_is_in_its_own_clips_factors(fitted):
    imputer, source, target, _ = fitted
    own = imputer.visible_latent(source), imputer.victim_latent(target)
    shared = imputer.shared_latent(torch.cat(own, dim=-1))
    right = step_error(imputer.rebuild_visible(own[0], shared, 6), source)
    swapped = imputer.rebuild_visible(own[0].flip(0), shared.flip(0), 6)
    assert right < 0.5 * step_error(swapped, source)


def test_every_term_is_in_the_loss():
    torch.manual_seed(0)
    imputer = MFM(DIM, discrepancy_weight=0.7).double()
    source, target = hidden([6, 4], seed=1), hidden([6, 4], seed=2)
    own = imputer.visible_latent(source), imputer.victim_latent(target)
    shared = imputer.shared_latent(torch.cat(own, dim=-1))
    surrogates = imputer.victim_surrogate(source), imputer.shared_surrogate(source)
    torch.manual_seed(3)  # the discrepancy compares with draws
    parts = [
        step_error(imputer.rebuild_visible(own[0], shared, 6), source),
        step_error(imputer.rebuild_victim(own[1], shared, 6), target),
        step_error(imputer.impute(source, target.lengths), target),
        (surrogates[0] - own[1]).square().mean(),
        (surrogates[1] - shared).square().mean(),
        *(0.7 * discrepancy(latent) for latent in (*own, shared)),
    ]
    torch.manual_seed(3)
    torch.testing.assert_close(imputer.fit_loss(source, target), sum(parts))


def test_the_discrepancy_tells_a_gaussian_from_the_rest():
    torch.manual_seed(0)
    gaussian = discrepancy(torch.randn(400, 4))
    assert gaussian.abs() < 0.01
    assert discrepancy(3 + torch.randn(400, 4)) > 10 * gaussian.abs()
