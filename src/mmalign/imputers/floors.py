"""Imputers that know nothing."""

from jaxtyping import Float, Int
from torch import Tensor

from mmalign import align
from mmalign.imputers.contract import Imputer
from mmalign.model.hidden import Hidden


class ZeroFill(Imputer):
    """The victim's steps are zeros."""

    def fit_loss(self, visible: Hidden, victim: Hidden) -> None:  # noqa: ARG002
        """There is nothing to fit."""
        return

    def impute(
        self, visible: Hidden, victim_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch victim_time dim"]:
        """Zeros."""
        longest = int(victim_lengths.max())
        return visible.steps.new_zeros(len(victim_lengths), longest, visible.steps.shape[2])


class UniformWindow(Imputer):
    """Each step is the mean of the visible steps in its window: no optimal transport at all."""

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def fit_loss(self, visible: Hidden, victim: Hidden) -> None:  # noqa: ARG002
        """There is nothing to fit."""
        return

    def impute(
        self, visible: Hidden, victim_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch victim_time dim"]:
        """The visible steps, carried through a uniform plan (design E9)."""
        plan = align.uniform_plan(
            visible.lengths,
            victim_lengths,
            window=self.window,
            time=visible.steps.shape[1],
            dtype=visible.steps.dtype,
        )
        return align.impute(
            plan,
            visible.steps,
            visible_lengths=visible.lengths,
            victim_lengths=victim_lengths,
        )
