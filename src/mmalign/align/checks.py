"""What an alignment problem must look like; every refusal says what, where and what to do."""

import math
from numbers import Integral, Real

import torch
from jaxtyping import Int
from torch import Tensor

from mmalign.errors import AlignmentError

MOST_ITERATIONS = 1 << 31
SMALLEST_EPSILON = 1e-100
LONGEST = 1 << 24
WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def check_window(window: int, time: int = LONGEST) -> int:
    """The radius as an integer; refuse one without neighbours, or far wider than the sequences.

    Raises:
        AlignmentError: window is no integer, below 1, or absurd for sequences of so many steps.
    """
    if not _is_integer(window) or window < 1:
        raise AlignmentError(f"window must be >= 1, got {_told(window)}; the paper's default is 8")
    if window > 4 * time + 64:
        raise AlignmentError(
            f"window must be at most {4 * time + 64} for sequences of {time} steps, "
            f"got {_told(window)}; a window of {time} sees all of them"
        )
    return int(window)


def check_epsilon(epsilon: float) -> float:
    """The entropic regularisation; refuse one that is not a positive number.

    Raises:
        AlignmentError: epsilon is not positive and finite, or costs would overflow beside it.
    """
    if _is_number(epsilon) and 0 < epsilon < SMALLEST_EPSILON:
        raise AlignmentError(f"epsilon must be at least {SMALLEST_EPSILON}, got {_told(epsilon)}")
    if not _is_number(epsilon) or not 0 < epsilon < math.inf:
        raise AlignmentError(f"epsilon must be a positive number, got {_told(epsilon)}; try 0.1")
    return float(epsilon)


def check_effort(tolerance: float, iterations: int | None) -> tuple[float, int | None]:
    """Tolerance and iterations; refuse those that are not positive.

    Raises:
        AlignmentError: tolerance is not positive, or iterations is no integer or below 1.
    """
    if not _is_number(tolerance) or not tolerance > 0:
        raise AlignmentError(
            f"tolerance must be a positive number, got {_told(tolerance)}; try 1e-6"
        )
    if iterations is None:
        return float(tolerance), None
    if not _is_integer(iterations) or not 1 <= iterations < MOST_ITERATIONS:
        raise AlignmentError(
            f"iterations must be >= 1, got {_told(iterations)}; "
            "leave it out to solve to the tolerance"
        )
    return float(tolerance), int(iterations)


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    """Whether it is a real number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return float(value) == value
    except OverflowError:
        return False


def _told(value: object) -> str:
    """A number in words; anything else by its type, as it may print as gigabytes."""
    is_short = isinstance(value, float) or (_is_integer(value) and abs(value) < 1 << 70)  # type: ignore[arg-type]
    return str(value) if is_short else f"a {type(value).__name__}"


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
    source_lengths: Int[Tensor, " batch"] | None,
    target_lengths: Int[Tensor, " batch"] | None,
    *,
    shape: tuple[int, int],
    like: Tensor,
    target_time: int | None = None,
) -> tuple[Int[Tensor, " batch"], Int[Tensor, " batch"]]:
    """Lengths of rows and columns, filled in where they are not given.

    Args:
        source_lengths: steps of each row sequence; None means the whole padded time.
        target_lengths: steps of each column sequence; None means those of the rows.
        shape: batch and padded time of the rows.
        like: a tensor on the device of the answer.
        target_time: padded time of the columns, an upper bound; None means no bound.

    Raises:
        AlignmentError: there is a length below 1, above its padded time, or one too many.
    """
    batch, time = shape
    if source_lengths is None:
        source_lengths = torch.full((batch,), time, dtype=torch.int64, device=like.device)
    if target_lengths is None:
        target_lengths = source_lengths
    _check_side("source", source_lengths, batch, time)
    if target_lengths is not source_lengths or target_time is not None:
        _check_side("target", target_lengths, batch, target_time)
    return source_lengths, target_lengths


def _check_side(side: str, lengths: Tensor, batch: int, at_most: int | None) -> None:
    if lengths.dtype not in WHOLE or lengths.is_meta or lengths.layout != torch.strided:
        raise AlignmentError(
            f"{side} lengths must be whole numbers, got {lengths.dtype} ({lengths.layout})"
        )
    if lengths.shape != (batch,):
        raise AlignmentError(
            f"expected {batch} {side} lengths, one per clip, got shape {tuple(lengths.shape)}"
        )
    # A list of numbers is several times faster to look through than a small tensor.
    values = lengths.tolist()
    if not values:
        raise AlignmentError("nothing to align: the batch is empty")
    highest = max(values) if at_most is None else at_most
    if min(values) < 1 or max(values) > highest:
        clip = next(i for i, value in enumerate(values) if not 1 <= value <= highest)
        limit = "" if at_most is None else f"..{at_most}"
        raise AlignmentError(
            f"clip {clip} has {side} length {values[clip]}; expected 1{limit}. "
            "Drop empty sequences before batching, and give lengths no larger than the padding."
        )


def check_reach(rows: Int[Tensor, " batch"], columns: Int[Tensor, " batch"], window: int) -> None:
    """Refuse a window in which some pair of lengths cannot be aligned at all.

    Raises:
        AlignmentError: the band of a clip holds no plan; names the smallest window that works.
    """
    if rows is columns:
        return
    for clip, (n, m) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        if n != m and smallest_window(n, m) > window:
            raise AlignmentError(
                f"clip {clip} aligns {n} steps with {m}, which window {window} cannot reach; "
                f"the smallest window that works is {smallest_window(n, m)}"
            )


def smallest_window(source_length: int, target_length: int) -> int:
    """The smallest window for which two lengths can be aligned at all.

    The monotone coupling gives row ``i`` the columns that its stretch ``[i m/n, (i+1) m/n]``
    touches. A band whose ends move forward only is feasible exactly if it holds that coupling (two
    crossing units of mass can always be uncrossed inside it), whose farthest entry is
    ``(n + m - 2 gcd(n, m)) / 2n`` from its row's centre: always less than E13's ``(m/n + 1) / 2``.

    >>> smallest_window(50, 50), smallest_window(10, 95)
    (1, 5)
    """
    reach = source_length + target_length - 2 * math.gcd(source_length, target_length)
    return max(1, -(-reach // (2 * source_length)))


def smallest_tolerance(dtype: torch.dtype) -> float:
    """The marginal error that rounding alone may leave: of the answer, or of float64 inside."""
    return max(4 * torch.finfo(dtype).eps, 64 * torch.finfo(torch.float64).eps)
