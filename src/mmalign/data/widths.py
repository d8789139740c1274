"""Do sequences have as many features a step as a model reads?"""

from collections.abc import Mapping

from mmalign.data.columns import first_misfit
from mmalign.data.split import Split
from mmalign.errors import DataError


def require_widths(split: Split, dims: Mapping[str, int]) -> None:
    """Check that every sequence is `[time, dim]` with a step or more; missing ones are fine.

    Raises:
        DataError: At the first clip for which that is not so.
    """
    for name, dim in dims.items():
        column = split.sequences[name]
        row = first_misfit(column, dim)
        steps = None if row is None else column[row]
        if row is not None and steps is not None:
            raise DataError(
                f"expected [time, {dim}], got {list(steps.shape)}",
                clip=split.ids[row],
                modality=name,
                fix=f"Give every clip the {dim} features that training clips have, in one step "
                "or more.",
            )
