"""Do clips have a modality that a model reads, and as many features a step?"""

from collections.abc import Iterable, Mapping

from mmalign.data.columns import first_misfit
from mmalign.data.split import Split
from mmalign.errors import DataError


def require_any(
    split: Split, modalities: Iterable[str], of: str = "the model's modalities"
) -> None:
    """Check that every clip has one of the modalities.

    Raises:
        DataError: At the first clip that has none.
    """
    names = list(modalities)
    present = split.has_any(names)
    if not present.all():
        raise DataError(
            f"the clip has none of {of}",
            clip=split.ids[int(present.argmin())],
            fix=f"Give it {' or '.join(names) or 'one'}, or leave it out.",
        )


def require_widths(split: Split, dims: Mapping[str, int]) -> None:
    """Check that every sequence is `[time, dim]` with a step or more; missing ones are fine.

    Raises:
        DataError: At the first clip for which that is not so.
    """
    for name, dim in dims.items():
        column = split.sequences[name]
        misfit = first_misfit(column, dim)
        if misfit is not None:
            row, shape = misfit
            raise DataError(
                f"expected [time, {dim}], got {list(shape)}",
                clip=split.ids[row],
                modality=name,
                fix=f"Give every clip the {dim} features that training clips have, in one step "
                "or more.",
            )
