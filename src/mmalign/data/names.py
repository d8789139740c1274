"""Names in a file: short, and such that a terminal only shows them; or parts of a longer name."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from mmalign.allowance import NAME_CHARACTERS
from mmalign.errors import UNPRINTABLE, DataError, shown

Named = TypeVar("Named")


def under(named: Mapping[str, Named], start: str) -> dict[str, Named]:
    """What has a name that begins like this, by the rest of its name.

    >>> under({"ridge/mean": 1, "ridge/scale": 2, "taps/mean": 3}, "ridge/")
    {'mean': 1, 'scale': 2}
    """
    return {n.removeprefix(start): value for n, value in named.items() if n.startswith(start)}


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
