"""Where a band plan keeps its entries: the slanted band of two sequences.

A plan between a source sequence of ``n`` steps and a target sequence of ``m`` steps is stored
as ``[batch, time, width]`` with ``width = 2 * window + 1``. Row ``i`` is centred on

    c_i = (i + 1/2) m / n - 1/2                                               (design E13)

and owns the target steps ``j`` with ``|j - c_i| <= window``. Entry ``k`` of row ``i`` is column

    j = ceil(c_i - window) + k

so that for equal lengths ``j = i + k - window``. Where ``c_i`` is not an integer the row owns only
``2 * window`` columns and its last entry is outside. Entries outside the window or either sequence
do not exist: :func:`is_inside` is False there and every plan of this package holds exactly 0.
All of this is integer arithmetic, so that time reversal maps a band onto itself exactly.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mmalign.align.checks import check_lengths, check_window, window_of

OUTSIDE = -1
"""The column of an entry that lies outside."""


def is_inside(
    source_lengths: Int[Tensor, " batch"],
    target_lengths: Int[Tensor, " batch"] | None = None,
    *,
    window: int,
    time: int | None = None,
) -> Bool[Tensor, "batch time width"]:
    """Whether an entry lies inside the window and both sequences.

    Args:
        source_lengths: steps of the source sequence (rows of the plan).
        target_lengths: steps of the target sequence (columns); None means equal lengths.
        window: radius of the band.
        time: rows of the answer, that is the padded length; None means the longest clip.

    >>> is_inside(torch.tensor([3]), window=1)[0].int().tolist()
    [[0, 1, 1], [1, 1, 1], [1, 1, 0]]
    """
    return band_columns(source_lengths, target_lengths, window=window, time=time) >= 0


def band_columns(
    source_lengths: Int[Tensor, " batch"],
    target_lengths: Int[Tensor, " batch"] | None = None,
    *,
    window: int,
    time: int | None = None,
) -> Int[Tensor, "batch time width"]:
    """The column of every entry, -1 where the entry is outside (design E13).

    >>> band_columns(torch.tensor([2]), torch.tensor([4]), window=1)[0].tolist()
    [[0, 1, -1], [2, 3, -1]]
    """
    check_window(window)
    n = source_lengths.long()
    m = n if target_lengths is None else target_lengths.long()
    rows = torch.arange(int(n.max()) if time is None else time, device=n.device)
    n, m = n[:, None], m[:, None]
    # Everything is in units of 1 / 2n, where centres and radii are integers.
    centre = (2 * rows + 1) * m - n
    radius = 2 * n * window
    first = -torch.div(radius - centre, 2 * n, rounding_mode="floor")
    last = torch.div(radius + centre, 2 * n, rounding_mode="floor").minimum(m - 1)
    last = last.masked_fill(rows >= n, OUTSIDE)
    columns = first[..., None] + torch.arange(2 * window + 1, device=n.device)
    return columns.masked_fill_((columns < 0) | (columns > last[..., None]), OUTSIDE)


def to_dense(
    mass: Float[Tensor, "batch time width"],
    *,
    source_lengths: Int[Tensor, " batch"] | None = None,
    target_lengths: Int[Tensor, " batch"] | None = None,
) -> Float[Tensor, "batch time target_time"]:
    """The plan as time x time matrices, for people and tests; entries outside are 0.

    >>> to_dense(torch.tensor([[[9.0, 0.7, 0.3], [0.3, 0.7, 9.0]]]))[0].tolist()
    [[0.699999988079071, 0.30000001192092896], [0.30000001192092896, 0.699999988079071]]
    """
    batch, time, width = mass.shape
    rows, columns = check_lengths(source_lengths, target_lengths, shape=(batch, time), like=mass)
    place = band_columns(rows, columns, window=window_of(width), time=time)
    # Entries outside add 0 to the first column.
    dense = mass.new_zeros(batch, time, int(columns.max()))
    return dense.scatter_add(2, place.clamp(min=0), mass.masked_fill(place < 0, 0.0))
