"""MM-Align's imputer: the alignment dynamics learner, that is solver and fitter."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mmalign import align
from mmalign.align.compiled import can_compile, kernels
from mmalign.imputers.contract import Imputer
from mmalign.model.gru import gru_states
from mmalign.model.hidden import Hidden, is_valid
from mmalign.model.lines import Flat, packed_fitter


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
        self._weights = list(self.parameters())
        self._packed: tuple[list[tuple[int, int]], Flat] | None = None

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

    @torch.no_grad()
    def compiled_plan(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch time width"] | None:
        """The same within 1e-5 by one compiled call, without a gradient; None where there is none.

        Padding takes no time, which is most of a batch of clips of different lengths.
        """
        steps = source.steps.detach()
        is_single = can_compile(steps, self.project.weight) and steps.dtype == torch.float32
        compiled = kernels("model.kernels.clip") if is_single else None
        if compiled is None:
            return None
        plans = steps.new_empty(*steps.shape[:2], 2 * self.window + 1)
        lengths = torch.stack((source.lengths, target_lengths), dim=1).numpy()
        given = steps.contiguous().numpy(), lengths, self.window, self.packed()
        compiled.plan_all(*given, plans.numpy())
        return plans

    def packed(self) -> Flat:
        """Both GRUs and the projection as kernels read them; made again when they have changed."""
        state = [(weight._version, weight.data_ptr()) for weight in self._weights]
        if self._packed is None or self._packed[0] != state:
            weights = {name: w.detach().numpy() for name, w in self.named_parameters()}
            self._packed = state, packed_fitter(weights)
        return self._packed[1]


class AlignmentDynamicsLearner(Imputer):
    """MM-Align's imputer.

    Args:
        dim: Width of the hidden vectors.
        window: Radius of the band.
        epsilon: Entropic regularisation of the solver.
        is_compiled: Whether plans that carry no gradient come from one compiled call.
    """

    def __init__(self, dim: int, *, window: int, epsilon: float, is_compiled: bool = False) -> None:
        super().__init__()
        self.is_compiled = is_compiled
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
        compiled = self.fitter.compiled_plan(source, target_lengths) if self.is_compiled else None
        with torch.no_grad():
            plan = self.fitter(source.detach(), target_lengths) if compiled is None else compiled
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
