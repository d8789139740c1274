"""Names in a file: short, and such that a terminal only shows them."""

from collections.abc import Iterable

from mmalign.allowance import NAME_CHARACTERS
from mmalign.errors import UNPRINTABLE, DataError, shown


def check_names(what: str, names: Iterable[str]) -> None:
    """Check that names are short and hold no control characters.

    Raises:
        DataError: At the first that is not; `what` says what it names.
    """
    for name in names:
        if len(name) > NAME_CHARACTERS or UNPRINTABLE.search(name):
            problem = "is too long" if len(name) > NAME_CHARACTERS else "holds control characters"
            raise DataError(
                f"{what} '{shown(name, most=80)}' {problem}",
                fix="Rename it; letters, digits, spaces and marks are fine.",
            )
