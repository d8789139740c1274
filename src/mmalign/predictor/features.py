"""Do these clips have what a model reads?"""

from collections.abc import Mapping

from mmalign.data.non_finite import require_finite
from mmalign.data.split import Split
from mmalign.data.widths import require_widths
from mmalign.errors import DataError


def check_features(split: Split, features: Mapping[str, int], *, visible: str) -> None:
    """Check that every clip has the visible modality, of the right width, and finite numbers.

    Raises:
        DataError: At the first clip for which that is not so.
    """
    is_visible = split.is_present(visible)
    if not is_visible.all():
        raise DataError(
            "the visible modality is missing",
            clip=split.ids[int(is_visible.argmin())],
            modality=visible,
            fix="Leave the clip out, or train a model whose visible modality it has.",
        )
    require_widths(split, features)
    require_finite(split)
