"""Imputers that know nothing, or next to nothing."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mmalign import align
from mmalign.imputers.contract import Imputer
from mmalign.model.hidden import Hidden, is_valid, same_moment

RANDOM_ROWS = 997


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


class MeanFill(Imputer):
    """Every step is the mean of the victim's hidden steps on complete training clips."""

    mean: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))

    def prepare(self, victim_steps: Callable[[], Float[Tensor, "steps dim"]]) -> None:
        """Take the mean of this epoch's steps."""
        self.mean.copy_(victim_steps().mean(dim=0))

    def fit_loss(self, visible: Hidden, victim: Hidden) -> None:  # noqa: ARG002
        """There is nothing to fit."""
        return

    def impute(
        self, visible: Hidden, victim_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch victim_time dim"]:
        """The mean, at every step."""
        inside = is_valid(victim_lengths, int(victim_lengths.max()))
        return inside[..., None] * self.mean.to(visible.steps.dtype)


class Copy(Imputer):
    """The visible hidden sequence stands in for the victim's, moment by moment."""

    def fit_loss(self, visible: Hidden, victim: Hidden) -> None:  # noqa: ARG002
        """There is nothing to fit."""
        return

    def impute(
        self, visible: Hidden, victim_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch victim_time dim"]:
        """The visible step at the moment of each victim step."""
        time = int(victim_lengths.max())
        moment = same_moment(victim_lengths, visible.lengths, time)
        rows = torch.arange(len(moment), device=moment.device)[:, None]
        return visible.steps[rows, moment] * is_valid(victim_lengths, time)[..., None]


class RandomPlan(Imputer):
    """A plan drawn once and kept: what an alignment that knows nothing is worth."""

    logits: Tensor

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window
        self.register_buffer("logits", 2 * torch.randn(RANDOM_ROWS, 2 * window + 1))

    def fit_loss(self, visible: Hidden, victim: Hidden) -> None:  # noqa: ARG002
        """There is nothing to fit."""
        return

    def impute(
        self, visible: Hidden, victim_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch victim_time dim"]:
        """The visible steps, carried through the random plan."""
        batch, time, _ = visible.steps.shape
        inside = align.is_inside(visible.lengths, victim_lengths, window=self.window, time=time)
        rows = torch.arange(time, device=inside.device) % RANDOM_ROWS
        logits = self.logits[rows].to(visible.steps.dtype).expand(batch, -1, -1)
        return align.impute(
            align.band_softmax(logits, inside),
            visible.steps,
            visible_lengths=visible.lengths,
            victim_lengths=victim_lengths,
        )
