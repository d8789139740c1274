"""Dynamic window: each step chooses what to take from its neighbours. No transport, no GRU."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from mmalign import align
from mmalign.imputers.contract import Imputer
from mmalign.model.hidden import Hidden, same_moment, step_error


class DynamicWindow(Imputer):
    """Weights over a window, read off the source step, mix linear maps of its neighbours.

        imputed_j = sum_k softmax_k(MLP(source_j)) Linear(source_{j+k}),   |k| <= window

    Trained by the task, and by the distance to the true hidden steps on complete clips. With
    unequal lengths, target step j reads the source steps around the same moment (design E13).
    """

    def __init__(self, dim: int, window: int) -> None:
        super().__init__()
        self.window = window
        self.choose = nn.Sequential(
            nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, 2 * window + 1)
        )
        self.translate = nn.Linear(dim, dim)

    def fit_loss(self, source: Hidden, target: Hidden) -> Float[Tensor, ""]:
        """Mean squared distance between imputed and true hidden steps."""
        return step_error(self.impute(source, target.lengths), target)

    def impute(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch target_time dim"]:
        """The mixture for every target step; gradients reach imputer and source sequence."""
        # Rows are target steps here, columns the source steps they may take from; -1 is outside.
        place = align.band_columns(target_lengths, source.lengths, window=self.window)
        inside = place >= 0
        rows = torch.arange(len(place), device=place.device)[:, None]
        centre = same_moment(target_lengths, source.lengths, place.shape[1])
        weights = align.band_softmax(self.choose(source.steps[rows, centre]), inside)
        neighbours = self.translate(source.steps)[rows[..., None], place.clamp(min=0)]
        return torch.einsum("btw,btwd->btd", weights, neighbours)

    def task_parameters(self) -> list[nn.Parameter]:
        """All of them."""
        return list(self.parameters())
