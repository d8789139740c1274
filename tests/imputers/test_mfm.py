"""MFM: factors rebuild the sequences, and latents come to look Gaussian."""

import torch

from mmalign.imputers.mfm import MFM, discrepancy
from mmalign.model.hidden import step_error
from tests.imputers.test_mmalign import DIM, hidden


def test_factors_rebuild_the_sequences():
    torch.manual_seed(0)
    imputer = MFM(DIM, discrepancy_weight=0.1).double()
    visible, victim = hidden([6, 4], seed=1), hidden([6, 4], seed=2)

    def errors() -> tuple[float, float]:
        own = imputer.visible_latent(visible), imputer.victim_latent(victim)
        shared = imputer.shared_latent(torch.cat(own, dim=-1))
        rebuilt = imputer.rebuild_visible(own[0], shared, 6)
        imputed = imputer.impute(visible, victim.lengths)
        return step_error(rebuilt, visible).item(), step_error(imputed, victim).item()

    before = errors()
    optimizer = torch.optim.Adam(imputer.parameters(), lr=0.03)
    for _ in range(100):
        optimizer.zero_grad()
        imputer.fit_loss(visible, victim).backward()
        optimizer.step()
    after = errors()
    assert after[0] < 0.3 * before[0]
    assert after[1] < 0.3 * before[1]


def test_the_discrepancy_tells_a_gaussian_from_the_rest():
    torch.manual_seed(0)
    gaussian = discrepancy(torch.randn(400, 4))
    assert gaussian.abs() < 0.01
    assert discrepancy(3 + torch.randn(400, 4)) > 10 * gaussian.abs()
