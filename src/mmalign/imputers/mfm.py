"""MFM: factorised representations (Tsai et al., ICLR 2019), on hidden sequences.

Each modality has a factor of its own, and both share one; a sequence is rebuilt from the two. For
a missing target, surrogates of its factor and of the shared one are read off the source sequence.
Differs from the released code: two modalities; the shared factor serves reconstruction, the
prediction is the backbone's; decoders see the factors at every step instead of their own output.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mmalign.imputers.contract import Imputer
from mmalign.model.gru import gru_states
from mmalign.model.hidden import Hidden, is_valid, step_error


class Summary(nn.Module):
    """The last state of a GRU over a sequence: one latent vector a clip."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.project = nn.Linear(dim, dim)

    def forward(self, hidden: Hidden) -> Float[Tensor, "batch dim"]:
        """Read each clip up to its own last step."""
        states = gru_states(self.gru, hidden.steps)
        rows = torch.arange(len(states), device=states.device)
        latent: Tensor = self.project(states[rows, hidden.lengths - 1])
        return latent


class Rebuild(nn.Module):
    """A sequence from its own and the shared latent."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.own_factor = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        self.shared_factor = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        self.gru = nn.GRU(2 * dim, dim, batch_first=True)
        self.write = nn.Linear(dim, dim)

    def forward(
        self, own: Float[Tensor, "batch dim"], shared: Float[Tensor, "batch dim"], time: int
    ) -> Float[Tensor, "batch time dim"]:
        """Roll the factors out over time."""
        factors = torch.cat((self.own_factor(own), self.shared_factor(shared)), dim=-1)
        states = gru_states(self.gru, factors[:, None].expand(-1, time, -1))
        steps: Tensor = self.write(states)
        return steps


class MFM(Imputer):
    """Factors, their reconstructions, and surrogates for a missing target.

    Args:
        dim: Width of the hidden vectors.
        discrepancy_weight: Weight of the distance of the latents to a standard Gaussian.
    """

    def __init__(self, dim: int, *, discrepancy_weight: float = 1.0) -> None:
        super().__init__()
        self.discrepancy_weight = discrepancy_weight
        # Saved models know these parts by the paper's words: source is visible, target victim.
        self.visible_latent = Summary(dim)
        self.victim_latent = Summary(dim)
        self.shared_latent = nn.Linear(2 * dim, dim)
        self.victim_surrogate = Summary(dim)
        self.shared_surrogate = Summary(dim)
        self.rebuild_visible = Rebuild(dim)
        self.rebuild_victim = Rebuild(dim)

    def fit_loss(self, source: Hidden, target: Hidden) -> Float[Tensor, ""]:
        """Reconstruction, discrepancy to a Gaussian, and the surrogates' errors."""
        own = self.visible_latent(source), self.victim_latent(target)
        shared = self.shared_latent(torch.cat(own, dim=-1))
        stand_in = self.victim_surrogate(source), self.shared_surrogate(source)
        times = source.steps.shape[1], target.steps.shape[1]
        loss: Tensor = (
            step_error(self.rebuild_visible(own[0], shared, times[0]), source)
            + step_error(self.rebuild_victim(own[1], shared, times[1]), target)
            + step_error(self.rebuild_victim(*stand_in, times[1]), target)
            + (stand_in[0] - own[1].detach()).square().mean()
            + (stand_in[1] - shared.detach()).square().mean()
            + self.discrepancy_weight * sum(discrepancy(latent) for latent in (*own, shared))
        )
        return loss

    def impute(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch target_time dim"]:
        """The target rebuilt from its surrogates."""
        time = int(target_lengths.max())
        steps = self.rebuild_victim(
            self.victim_surrogate(source), self.shared_surrogate(source), time
        )
        imputed: Tensor = steps * is_valid(target_lengths, time)[..., None]
        return imputed

    def task_parameters(self) -> list[nn.Parameter]:
        """Those that imputation uses."""
        used = (self.victim_surrogate, self.shared_surrogate, self.rebuild_victim)
        return [parameter for module in used for parameter in module.parameters()]


def discrepancy(latent: Float[Tensor, "batch dim"]) -> Float[Tensor, ""]:
    """Maximum mean discrepancy between latents and draws from a standard Gaussian.

    Kernel k(a, b) = exp(-mean((a - b)^2) / dim): E k(g, g') + E k(z, z') - 2 E k(g, z).
    """
    draws = torch.randn_like(latent)
    return _kernel(draws, draws) + _kernel(latent, latent) - 2 * _kernel(draws, latent)


def _kernel(first: Float[Tensor, "batch dim"], second: Float[Tensor, "batch dim"]) -> Tensor:
    distances = (first[:, None] - second[None]).square().mean(dim=-1)
    return torch.exp(-distances / first.shape[1]).mean()
