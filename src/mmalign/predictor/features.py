"""Do these clips have what a model reads?"""

from collections.abc import Mapping, Sequence

from mmalign.data.non_finite import Policy, cleaned, require_finite
from mmalign.data.split import Split
from mmalign.data.widths import require_widths
from mmalign.errors import DataError


def check_features(split: Split, features: Mapping[str, int], *, visible: str) -> None:
    """Check that every clip has the visible modality, of the right width, and finite numbers.

    Raises:
        DataError: At the first clip for which that is not so.
    """
    is_visible = split.is_present(visible)
    if not all(is_visible.tolist()):
        raise DataError(
            "the visible modality is missing",
            clip=split.ids[int(is_visible.argmin())],
            modality=visible,
            fix="Leave the clip out, or train a model whose visible modality it has.",
        )
    require_widths(split, features)
    require_finite(split)


def check_any(split: Split, features: Mapping[str, int]) -> None:
    """Check that every clip has some modality, all of the right width, and finite numbers.

    Raises:
        DataError: At the first clip for which that is not so.
    """
    has_any = split.has_any(features)
    if not has_any.all():
        raise DataError(
            f"none of {', '.join(features)} is there",
            clip=split.ids[int(has_any.argmin())],
            fix="Leave the clip out: there is nothing to predict from.",
        )
    require_widths(split, features)
    require_finite(split)


def with_modalities(split: Split, modalities: Sequence[str]) -> Split:
    """These modalities of the clips, in this order; what no clip has need not be there at all."""
    if tuple(modalities) == split.modalities:
        return split
    there = split.only([name for name in modalities if name in split.sequences])
    absent = [None] * len(split)
    columns = {name: there.sequences.get(name, absent) for name in modalities}
    return there.with_known_features(sequences=columns)


def readable(split: Split, features: Mapping[str, int], policy: Policy) -> Split:
    """The clips as a model with these features reads them: its modalities alone, and checked.

    Raises:
        DataError: At the first clip that it cannot read.
    """
    split = cleaned(with_modalities(split, tuple(features)), policy)
    check_any(split, features)
    return split
