"""MFM: factors rebuild the sequences, and latents come to look Gaussian."""

import pytest
import torch

from mmalign.imputers.mfm import MFM, discrepancy
from mmalign.model.hidden import Hidden, step_error
from tests.imputers.test_mmalign import DIM, hidden


@pytest.fixture(scope="module", params=[0, 1, 2])
def fitted(request):
    """Factors of two clips, fitted until they tell them apart."""
    torch.manual_seed(request.param)
    imputer = MFM(DIM, discrepancy_weight=0.1).double()
    visible, victim = hidden([6, 4], seed=1), hidden([6, 4], seed=2)
    before = errors(imputer, visible, victim)
    optimizer = torch.optim.Adam(imputer.parameters(), lr=0.03)
    for _ in range(150):
        optimizer.zero_grad()
        imputer.fit_loss(visible, victim).backward()
        optimizer.step()
    return imputer, visible, victim, before


@torch.no_grad()
def errors(imputer: MFM, visible: Hidden, victim: Hidden) -> tuple[float, float]:
    """Of the visible sequence from its factors, and of the victim from its surrogates."""
    own = imputer.visible_latent(visible), imputer.victim_latent(victim)
    shared = imputer.shared_latent(torch.cat(own, dim=-1))
    rebuilt = imputer.rebuild_visible(own[0], shared, 6)
    imputed = imputer.impute(visible, victim.lengths)
    return step_error(rebuilt, visible).item(), step_error(imputed, victim).item()


def test_factors_rebuild_the_sequences(fitted):
    imputer, visible, victim, before = fitted
    after = errors(imputer, visible, victim)
    assert after[0] < 0.4 * before[0]
    assert after[1] < 0.4 * before[1]


@torch.no_grad()
def test_a_sequence_is_in_its_own_clips_factors(fitted):
    imputer, visible, victim, _ = fitted
    own = imputer.visible_latent(visible), imputer.victim_latent(victim)
    shared = imputer.shared_latent(torch.cat(own, dim=-1))
    right = step_error(imputer.rebuild_visible(own[0], shared, 6), visible)
    swapped = imputer.rebuild_visible(own[0].flip(0), shared.flip(0), 6)
    assert right < 0.5 * step_error(swapped, visible)


def test_every_term_is_in_the_loss():
    torch.manual_seed(0)
    imputer = MFM(DIM, discrepancy_weight=0.7).double()
    visible, victim = hidden([6, 4], seed=1), hidden([6, 4], seed=2)
    own = imputer.visible_latent(visible), imputer.victim_latent(victim)
    shared = imputer.shared_latent(torch.cat(own, dim=-1))
    surrogates = imputer.victim_surrogate(visible), imputer.shared_surrogate(visible)
    torch.manual_seed(3)  # the discrepancy compares with draws
    parts = [
        step_error(imputer.rebuild_visible(own[0], shared, 6), visible),
        step_error(imputer.rebuild_victim(own[1], shared, 6), victim),
        step_error(imputer.impute(visible, victim.lengths), victim),
        (surrogates[0] - own[1]).square().mean(),
        (surrogates[1] - shared).square().mean(),
        *(0.7 * discrepancy(latent) for latent in (*own, shared)),
    ]
    torch.manual_seed(3)
    torch.testing.assert_close(imputer.fit_loss(visible, victim), sum(parts))


def test_the_discrepancy_tells_a_gaussian_from_the_rest():
    torch.manual_seed(0)
    gaussian = discrepancy(torch.randn(400, 4))
    assert gaussian.abs() < 0.01
    assert discrepancy(3 + torch.randn(400, 4)) > 10 * gaussian.abs()
