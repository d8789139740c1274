"""What an alignment problem must look like; every refusal says what, where and what to do."""

import math

import torch
from jaxtyping import Int
from torch import Tensor

from mmalign.errors import AlignmentError


def check_window(window: int) -> None:
    """Refuse a radius without neighbours.

    Raises:
        AlignmentError: window is below 1.
    """
    if window < 1:
        raise AlignmentError(f"window must be >= 1, got {window}; the paper's default is 8")


def check_epsilon(epsilon: float) -> None:
    """Refuse an entropic regularisation that is not a positive number.

    Raises:
        AlignmentError: epsilon is not positive and finite.
    """
    if not 0 < epsilon < math.inf:
        raise AlignmentError(f"epsilon must be a positive number, got {epsilon}; try 0.1")


def window_of(width: int) -> int:
    """The radius of a band of this width.

    Raises:
        AlignmentError: width is not ``2 * window + 1`` for a window of at least 1.
    """
    if width < 3 or width % 2 == 0:
        raise AlignmentError(
            f"a band has width 2 * window + 1 >= 3, got {width}; "
            "the last axis of a plan must hold the window, not the other sequence"
        )
    return width // 2


def check_lengths(
    visible_lengths: Int[Tensor, " batch"] | None,
    victim_lengths: Int[Tensor, " batch"] | None,
    *,
    shape: tuple[int, int],
    like: Tensor,
    victim_time: int | None = None,
) -> tuple[Int[Tensor, " batch"], Int[Tensor, " batch"]]:
    """Lengths of rows and columns, filled in where they are not given.

    Args:
        visible_lengths: steps of each row sequence; None means the whole padded time.
        victim_lengths: steps of each column sequence; None means ``victim_time`` where that is
            given and the row lengths where it is not.
        shape: batch and padded time of the rows.
        like: a tensor on the device of the answer.
        victim_time: padded time of the columns, an upper bound; None means no bound.

    Raises:
        AlignmentError: there is a length below 1, above its padded time, or one too many.
    """
    batch, time = shape
    if visible_lengths is None:
        visible_lengths = torch.full((batch,), time, dtype=torch.int64, device=like.device)
    if victim_lengths is None:
        same = victim_time is None or victim_time == time
        victim_lengths = (
            visible_lengths if same else torch.full_like(visible_lengths, victim_time or 0)
        )
    _check_side("visible", visible_lengths, batch, time)
    _check_side("victim", victim_lengths, batch, victim_time)
    return visible_lengths, victim_lengths


def _check_side(side: str, lengths: Tensor, batch: int, at_most: int | None) -> None:
    if lengths.shape != (batch,):
        raise AlignmentError(
            f"expected {batch} {side} lengths, one per clip, got shape {tuple(lengths.shape)}"
        )
    shortest, longest = torch.aminmax(lengths) if batch else (lengths.new_ones(()),) * 2
    if shortest < 1 or (at_most is not None and longest > at_most):
        bad = (lengths < 1) | (lengths > (longest if at_most is None else at_most))
        clip = int(bad.nonzero()[0])
        limit = "" if at_most is None else f"..{at_most}"
        raise AlignmentError(
            f"clip {clip} has {side} length {int(lengths[clip])}; expected 1{limit}. "
            "Drop empty sequences before batching, and give lengths no larger than the padding."
        )
