"""A batch of bands in torch operations: the problem as the portable solver sees it."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mmalign.align.band import band_columns


@dataclass(frozen=True)
class ScoredBand:
    """A batch of problems: ``-cost / epsilon`` on the band, and how entries meet columns."""

    scores: Float[Tensor, "batch time width"]
    place: Int[Tensor, "batch entries"]
    is_row: Bool[Tensor, "batch time"]
    is_column: Bool[Tensor, "batch places"]
    column_target: Float[Tensor, "batch 1"]

    @classmethod
    def build(
        cls,
        cost: Float[Tensor, "batch time width"],
        rows: Int[Tensor, " batch"],
        columns: Int[Tensor, " batch"],
        *,
        epsilon: float,
    ) -> "ScoredBand":
        """Entries outside score -inf and belong to the first column, to which they add nothing."""
        batch, time, width = cost.shape
        place = band_columns(rows, columns, window=width // 2, time=time)
        # Apple's devices have no float64.
        real = torch.float32 if cost.device.type == "mps" else torch.float64
        return cls(
            scores=(cost.to(real) / -epsilon).masked_fill_(place < 0, -torch.inf),
            place=place.clamp(min=0).view(batch, -1),
            is_row=torch.arange(time, device=cost.device) < rows[:, None],
            is_column=torch.arange(int(columns.max()), device=cost.device) < columns[:, None],
            column_target=(rows.to(real) / columns)[:, None],
        )

    def softened(self, factor: float) -> "ScoredBand":
        """The same problem with epsilon divided by ``factor``."""
        return replace(self, scores=self.scores * factor)

    def spread(self, columns: Float[Tensor, "batch places"]) -> Float[Tensor, "batch time width"]:
        """The value of its column at every entry."""
        return columns.gather(1, self.place).view_as(self.scores)

    def column_sums(
        self, entries: Float[Tensor, "batch time width"]
    ) -> Float[Tensor, "batch places"]:
        """Sum of the entries of every column."""
        sums = self.column_target.new_zeros(self.is_column.shape)
        return sums.scatter_add_(1, self.place, entries.reshape(self.place.shape))

    def column_logsumexp(
        self, entries: Float[Tensor, "batch time width"]
    ) -> Float[Tensor, "batch places"]:
        """Log of the sum of the exponentials of every column; -inf where there is no column."""
        flat = entries.reshape(self.place.shape)
        lowest = self.column_target.new_full(self.is_column.shape, -torch.inf)
        top = lowest.scatter_reduce_(1, self.place, flat, "amax")
        return top + self.column_sums((entries - self.spread(top)).exp()).log()

    def row_potentials(self, columns: Float[Tensor, "batch places"]) -> Float[Tensor, "batch time"]:
        """What makes every row sum to 1 (Eq. eq:skh_step2, first half)."""
        reached = (self.scores + self.spread(columns)).logsumexp(-1)
        return -reached.masked_fill(~self.is_row, 0.0)

    def column_potentials(self, rows: Float[Tensor, "batch time"]) -> Float[Tensor, "batch places"]:
        """What makes every column sum to n/m (Eq. eq:skh_step2, second half; differs: E4).

        Where there is no column it is inf, which no entry reads.
        """
        return self.column_target.log() - self.column_logsumexp(self.scores + rows[..., None])

    def marginal_error(self, plan: Float[Tensor, "batch time width"]) -> Float[Tensor, " batch"]:
        """Largest relative deviation of a row or column sum from its target."""
        row_error = (plan.sum(-1) - 1.0).masked_fill(~self.is_row, 0.0).abs().amax(-1)
        column_error = self.column_sums(plan) / self.column_target - 1.0
        return row_error.maximum(column_error.masked_fill(~self.is_column, 0.0).abs().amax(-1))
