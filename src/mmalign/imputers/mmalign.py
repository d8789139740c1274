"""MM-Align's imputer: the alignment dynamics learner, that is solver and fitter."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mmalign import align
from mmalign.imputers.contract import Imputer
from mmalign.model.gru import gru_states
from mmalign.model.hidden import Hidden, is_valid


class Fitter(nn.Module):
    """Imitates the plan from the source side alone: bi-GRU, projection, softmax inside the band.

    Paper: T-hat = softmax(Linear(GRU(Z1))); differs: design E5 (entries outside the sequence are
    masked before the softmax).
    """

    def __init__(self, dim: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.forward_gru = nn.GRU(dim, dim, batch_first=True)
        self.backward_gru = nn.GRU(dim, dim, batch_first=True)
        self.project = nn.Linear(2 * dim, 2 * window + 1)

    def forward(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time width"]:
        """The predicted plan; each row of a valid step sums to 1."""
        # Two GRUs over sequences turned around inside their own length: what a packed bi-GRU
        # computes, without packing; the padding comes last in both, and so changes nothing.
        turned = turn_around(source.steps, source.lengths)
        ahead = gru_states(self.forward_gru, source.steps)
        back = gru_states(self.backward_gru, turned)
        states = torch.cat((ahead, turn_around(back, source.lengths)), dim=-1)
        inside = align.is_inside(
            source.lengths, target_lengths, window=self.window, time=source.steps.shape[1]
        )
        return align.band_softmax(self.project(states), inside)


class AlignmentDynamicsLearner(Imputer):
    """MM-Align's imputer.

    Args:
        dim: Width of the hidden vectors.
        window: Radius of the band.
        epsilon: Entropic regularisation of the solver.
    """

    def __init__(self, dim: int, *, window: int, epsilon: float) -> None:
        super().__init__()
        self.window = window
        self.epsilon = epsilon
        self.fitter = Fitter(dim, window)

    def plan(self, source: Hidden, target: Hidden) -> align.BandPlan:
        """The solver's plan between true hidden sequences (A*)."""
        return align.solve(
            source.steps.detach(),
            target.steps.detach(),
            window=self.window,
            epsilon=self.epsilon,
            source_lengths=source.lengths,
            target_lengths=target.lengths,
        )

    def predicted_plan(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time width"]:
        """What the fitter says the plan is (T-hat)."""
        predicted: Tensor = self.fitter(source, target_lengths)
        return predicted

    def fit_loss(self, source: Hidden, target: Hidden) -> Float[Tensor, ""]:
        """Mean squared error between predicted and solved plan (paper: Eq. fit_loss, design E6)."""
        return align.fit_loss(
            self.fitter(source, target.lengths),
            self.plan(source, target).mass,
            source_lengths=source.lengths,
            target_lengths=target.lengths,
        )

    def impute(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch target_time dim"]:
        """Source steps carried through the predicted plan (paper: Eq. imp).

        The plan is computed without gradient; the source sequence carries it (design E11).
        """
        with torch.no_grad():
            plan = self.fitter(source.detach(), target_lengths)
        return align.impute(
            plan,
            source.steps,
            source_lengths=source.lengths,
            target_lengths=target_lengths,
        )


def turn_around(
    steps: Float[Tensor, "batch time dim"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch time dim"]:
    """Each sequence backwards inside its own length; padding stays where it is."""
    time = torch.arange(steps.shape[1], device=steps.device)
    source = torch.where(is_valid(lengths, steps.shape[1]), lengths[:, None] - 1 - time, time)
    return steps.gather(1, source[..., None].expand_as(steps))
