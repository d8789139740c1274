"""The answer of the solver: a plan and the evidence that it is one."""

from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor

from mmalign.align.band import to_dense
from mmalign.align.checks import window_of


class BandPlan(NamedTuple):
    """A transport plan in band layout, with evidence.

    Entry ``k`` of row ``i`` is the mass that source step ``i`` sends to target step
    ``ceil(c_i - window) + k`` (:mod:`mmalign.align.band`), which is ``i + k - window`` for equal
    lengths. Rows sum to 1 and columns to ``n/m`` up to ``marginal_error`` (design E4).
    A single clip has no batch axis.

    Attributes:
        mass: the plan; exactly 0 outside window and sequence.
        iterations: sweeps of the solver that each clip took, Sinkhorn and Newton together.
        marginal_error: largest relative deviation of a row or column sum from its target.
        converged: whether the marginal error is within the tolerance that was asked for (or the
            best that the dtype can hold, where that is larger).
        source_lengths: rows of each clip.
        target_lengths: columns of each clip.
    """

    mass: Float[Tensor, "*batch time width"]
    iterations: Int[Tensor, "*batch"]
    marginal_error: Float[Tensor, "*batch"]
    converged: Bool[Tensor, "*batch"]
    source_lengths: Int[Tensor, "*batch"]
    target_lengths: Int[Tensor, "*batch"]

    def __repr__(self) -> str:
        plans, solved = self.converged.numel(), int(self.converged.sum())
        steps = (
            f"{self.mass.shape[-2]} steps"
            if plans != 1
            else (f"{int(self.source_lengths.sum())} to {int(self.target_lengths.sum())} steps")
        )
        return (
            f"BandPlan({plans} plan{'s' if plans != 1 else ''}, {steps}, window {self.window}, "
            f"{solved} of {plans} converged)"
        )

    @property
    def window(self) -> int:
        """Radius of the band."""
        return window_of(self.mass.shape[-1])

    def dense(self) -> Float[Tensor, "*batch time target_time"]:
        """The plan as time x time matrices (:func:`mmalign.align.to_dense`)."""
        single = self.mass.ndim == 2
        dense = to_dense(
            self.mass[None] if single else self.mass,
            source_lengths=self.source_lengths.reshape(-1),
            target_lengths=self.target_lengths.reshape(-1),
        )
        return dense[0] if single else dense
