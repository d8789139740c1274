"""The distance between a predicted plan and a solved one."""

from jaxtyping import Float, Int
from torch import Tensor

from mmalign.align.band import is_inside
from mmalign.align.checks import check_lengths, window_of


def fit_loss(
    predicted: Float[Tensor, "batch time width"],
    plan: Float[Tensor, "batch time width"],
    *,
    visible_lengths: Int[Tensor, " batch"] | None = None,
    victim_lengths: Int[Tensor, " batch"] | None = None,
) -> Float[Tensor, ""]:
    """Mean squared error over the entries inside window and sequence, all clips pooled.

    Paper: Eq. eq:fit_loss; differs: no square root, and entries outside the sequence do not
    count (design E6). What either plan holds outside is never read and gets no gradient.

    Raises:
        AlignmentError: shapes or lengths do not fit together.

    >>> import torch
    >>> plan = torch.tensor([[[9.0, 1.0, 0.0], [0.0, 1.0, 9.0]]])
    >>> fit_loss(torch.full((1, 2, 3), 0.5), plan).item()
    0.25
    """
    batch, time, width = predicted.shape
    rows, columns = check_lengths(
        visible_lengths, victim_lengths, shape=(batch, time), like=predicted
    )
    inside = is_inside(rows, columns, window=window_of(width), time=time)
    error = (predicted - plan).masked_fill(~inside, 0.0)
    return error.square().sum() / inside.sum()
