"""Imputers that know nothing, or next to nothing."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mmalign import align
from mmalign.imputers.contract import Imputer
from mmalign.model.hidden import Hidden, is_valid, same_moment
from mmalign.model.loading import drawn

RANDOM_ROWS = 997


class _Floor(Imputer):
    """What an imputer shares with others that do not learn."""

    def fit_loss(self, source: Hidden, target: Hidden) -> None:  # noqa: ARG002
        """There is nothing to fit."""
        return


class ZeroFill(_Floor):
    """The target's steps are zeros."""

    def impute(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch target_time dim"]:
        """Zeros."""
        longest = int(target_lengths.max())
        return source.steps.new_zeros(len(target_lengths), longest, source.steps.shape[2])


class UniformWindow(_Floor):
    """Each step is the mean of the source steps in its window: no optimal transport at all."""

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def impute(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch target_time dim"]:
        """The source steps, carried through a uniform plan (design E9)."""
        plan = align.uniform_plan(
            source.lengths,
            target_lengths,
            window=self.window,
            time=source.steps.shape[1],
            dtype=source.steps.dtype,
        )
        return align.impute(
            plan,
            source.steps,
            source_lengths=source.lengths,
            target_lengths=target_lengths,
        )


class MeanFill(_Floor):
    """Every step is the mean of the target's hidden steps on complete training clips."""

    mean: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(dim))

    def prepare(self, target_steps: Callable[[], Float[Tensor, "steps dim"]]) -> None:
        """Take the mean of this epoch's steps."""
        self.mean.copy_(target_steps().mean(dim=0))

    def impute(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch target_time dim"]:
        """The mean, at every step."""
        inside = is_valid(target_lengths, int(target_lengths.max()))
        return inside[..., None] * self.mean.to(source.steps.dtype)


class Copy(_Floor):
    """The source hidden sequence stands in for the target's, moment by moment."""

    def impute(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch target_time dim"]:
        """The source step at the moment of each target step."""
        time = int(target_lengths.max())
        moment = same_moment(target_lengths, source.lengths, time)
        rows = torch.arange(len(moment), device=moment.device)[:, None]
        return source.steps[rows, moment] * is_valid(target_lengths, time)[..., None]


class RandomPlan(_Floor):
    """A plan drawn once and kept: what an alignment that knows nothing is worth."""

    logits: Tensor

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window
        self.register_buffer("logits", drawn(RANDOM_ROWS, 2 * window + 1, over=0.5))

    def impute(
        self, source: Hidden, target_lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch target_time dim"]:
        """The source steps, carried through the random plan."""
        batch, time, _ = source.steps.shape
        inside = align.is_inside(source.lengths, target_lengths, window=self.window, time=time)
        rows = torch.arange(time, device=inside.device) % RANDOM_ROWS
        logits = self.logits[rows].to(source.steps.dtype).expand(batch, -1, -1)
        return align.impute(
            align.band_softmax(logits, inside),
            source.steps,
            source_lengths=source.lengths,
            target_lengths=target_lengths,
        )
