"""Do these clips have what a model reads?"""

from collections.abc import Mapping

from mmalign.data.columns import first_misfit
from mmalign.data.non_finite import require_finite
from mmalign.data.split import Split
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
    for name, dim in features.items():
        column = split.sequences[name]
        row = first_misfit(column, dim)
        steps = None if row is None else column[row]
        if row is not None and steps is not None:
            raise DataError(
                f"expected [time, {dim}], got {list(steps.shape)}",
                clip=split.ids[row],
                modality=name,
                fix="Give the features that the model was trained on, a step or more of them.",
            )
    require_finite(split)
